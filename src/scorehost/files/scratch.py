"""Folders below the system's temporary one that tell whose they are; those of dead processes go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from scorehost.errors import DiskFull, DiskTrouble
from scorehost.files.atomic import FULL
from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.files.removal import remove_tree
from scorehost.foreign import translating

_HINT = "Make room there, or set TMPDIR to another folder; a job goes on with --resume."


def made_scratch(kind: str) -> Path:
    """A new folder, only for this user; its maker removes it. What dead ones of this kind left goes first.

    Raises DiskTrouble, which names the folder for temporary files.
    """
    prefix = f"scorehost-{kind}-"
    with translating((OSError,), _not_made):
        for place in Path(gettempdir()).glob(f"{prefix}*"):
            if _is_dead(place, place.name.removeprefix(prefix)):
                with suppress(OSError):
                    remove_tree(place)
        return Path(mkdtemp(prefix=f"{prefix}{own_lease().mark}-"))


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """A folder that is gone at the end of the block. Raises DiskTrouble, as one with no room for what the
    block writes does.
    """
    place = made_scratch(kind)
    try:
        with translating((OSError,), _full):
            yield place
    finally:
        with suppress(OSError):  # the next one tries again
            remove_tree(place)


def temporary_place() -> str:
    """The folder for temporary files, for messages, also where none can be written to."""
    try:
        return gettempdir()
    except FileNotFoundError:
        return os.environ.get("TMPDIR", "/tmp")  # noqa: S108 - only named


def _not_made(error: BaseException) -> BaseException:
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return DiskTrouble(
        f"No folder for temporary files can be made in {temporary_place()}: {why}.", hint=_HINT
    )


def _full(error: BaseException) -> BaseException:
    if not isinstance(error, OSError) or error.errno not in FULL:
        return error
    return DiskFull(f"The folder for temporary files, {temporary_place()}, is full.", hint=_HINT)


def _is_dead(place: Path, rest: str) -> bool:
    lease = Lease.parse(rest.rpartition("-")[0])
    if lease is None or lease.standing() is not Standing.DEAD:
        return False
    try:
        status = place.lstat()
    except OSError:
        return False
    return os.geteuid() in (0, status.st_uid)
