"""Contents that attempts share: each is stored once below runs/.blobs and linked where it is needed."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from scorehost.files.atomic import disk_errors, disk_full, make_folder
from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.files.tree import CHUNK

RESERVE = 16 * 1024**2  # bytes that a submission leaves free for results, logs and everybody else


class Blobs:
    """A folder of contents by sha256. Safe for several jobs at a time: a content appears by rename."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def expect(self, size: int) -> None:
        """Raises DiskFull, before anything is written, when `size` bytes would leave too little free."""
        make_folder(self._folder)
        if size > 0 and shutil.disk_usage(self._folder).free < size + RESERVE:
            raise disk_full(self._folder, size + RESERVE)

    def put(self, pieces: Iterator[bytes], *, executable: bool) -> tuple[str, Path]:
        """Stores what the pieces hold together; (hex sha256, path). Raises DiskFull.

        It is durable when the draft that links it is settled: one wait for all files instead of one for each.
        """
        head, more = next(pieces, b""), next(pieces, None)
        if more is None:  # small, and most often here already: a repeat then writes nothing
            name = hashlib.sha256(head).hexdigest()
            if _holds(self._place(name, executable), len(head)):
                return name, self._place(name, executable)
        incoming = self._folder / "incoming"
        make_folder(incoming)
        draft = incoming / f"{own_lease()}.{secrets.token_hex(8)}"
        digest = hashlib.sha256()
        try:
            with disk_errors(self._folder, CHUNK), draft.open("xb") as stream:
                os.fchmod(stream.fileno(), 0o700 if executable else 0o600)
                for data in chain((head,), () if more is None else (more,), pieces):
                    digest.update(data)
                    stream.write(data)
            name = digest.hexdigest()
            target = self._place(name, executable)
            if _holds(target, draft.stat().st_size):
                draft.unlink()
            else:
                make_folder(target.parent)
                draft.rename(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return name, target

    def sweep(self) -> None:
        """Removes half-copied contents of processes that do not live any more."""
        incoming = self._folder / "incoming"
        for draft in incoming.iterdir() if incoming.is_dir() else ():
            lease = Lease.parse(draft.name.rpartition(".")[0])
            if lease is not None and lease.standing() is Standing.DEAD:
                draft.unlink(missing_ok=True)

    def _place(self, name: str, executable: bool) -> Path:
        return self._folder / name[:2] / (name + ("x" if executable else ""))


def _holds(blob: Path, size: int) -> bool:
    # A blob of another size was cut short by a dying machine or by hand; the new one takes its place.
    try:
        return blob.stat().st_size == size
    except FileNotFoundError:
        return False
