"""An attempt of an earlier job that stands: its files linked into the new job, byte for byte."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors, make_folder
from scorehost.jobs.ledger import file_hash
from scorehost.model.result import read_result

if TYPE_CHECKING:
    from scorehost.attempt.order import Order
    from scorehost.jobs.ledger import Ledger

# A content that is linked too often already, or a file system without links.
_NO_LINK = (errno.EMLINK, errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS)


def carry_over(source: Path, order: Order, ledger: Ledger) -> None:
    """Publishes the attempt in `source` in the job of `ledger` and journals it as carried over.

    It appears whole or not at all, and becomes durable with the caller's `os.sync`. Raises DiskFull, and
    UsageError when the attempt has gone from the parent.
    """
    target = ledger.folder.attempt(order.key)
    draft = target.with_name(f".{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        with disk_errors(target.parent, 4096):
            _link_tree(source, draft)
            draft.rename(target)
    except FileNotFoundError as error:
        raise UsageError(
            f"{error.filename} has gone while the job was being made.", hint="Score the parent job again."
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    result = read_result((target / "result.json").read_bytes())
    hashes = {"result": file_hash(target / "result.json"), "manifest": file_hash(target / "manifest.json")}
    ledger.carry(order, result, hashes)


def _link_tree(source: Path, target: Path) -> None:
    make_folder(target)
    with os.scandir(source) as entries:
        for entry in entries:
            place = target / entry.name
            if entry.is_dir(follow_symlinks=False):
                _link_tree(Path(entry.path), place)
                continue
            try:
                os.link(entry.path, place, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_LINK:
                    raise
                shutil.copy2(entry.path, place, follow_symlinks=False)
