"""Files that appear whole, stay after a crash, and say so when the disk is full. Plain synchronous code."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from scorehost.errors import DiskFull, DiskTrouble
from scorehost.files.durable import sync_opened
from scorehost.foreign import translating

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

FOREIGN = (OSError,)
FULL = (errno.ENOSPC, errno.EDQUOT)
PARTIAL = ".partial"  # suffix of a file that is being written; a dead writer leaves it, nobody reads it


_LOOK = "Look at that file system and at who may write there, then go on with --resume."
_ODD = (
    f"{_LOOK} FAT, exFAT and shares of Windows take no name with one of : * ? < > |: such work needs a runs "
    "folder on another file system (--out DIR)."
)


def disk_full(folder: Path, needed: int) -> DiskFull:
    """The error for a file system that could not take `needed` bytes more below `folder`."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        free = 0
    missing = max(needed - free, 1)
    return DiskFull(
        f"The file system of {folder} is full: {needed} bytes were due, {free} are free, "
        f"at least {missing} are missing.",
        hint="Free some space (or raise the quota), then go on with --resume.",
    )


def translated(error: BaseException, *, folder: Path, needed: int) -> BaseException:
    """`DiskFull` for "no space" and "over quota"; every other error as it is."""
    return disk_full(folder, needed) if isinstance(error, OSError) and error.errno in FULL else error


def disk_errors(folder: Path, needed: int) -> AbstractContextManager[None]:
    """Turns "no space" and "over quota" into `DiskFull`; every other OSError passes."""
    return translating(FOREIGN, lambda error: translated(error, folder=folder, needed=needed))


def disk_trouble(folder: Path, needed: int = 4096) -> AbstractContextManager[None]:
    """Turns every OSError of what is written below `folder` into DiskTrouble that says what failed and where.

    For work whose failure can only be the disk's; a full disk is `DiskFull` here too.
    """
    return translating(FOREIGN, lambda error: _trouble(error, folder, needed))


def _trouble(error: BaseException, folder: Path, needed: int) -> BaseException:
    if not isinstance(error, OSError):
        return error
    if error.errno in FULL:
        return disk_full(folder, needed)
    place = error.filename2 or error.filename or folder
    shown = os.fsdecode(place) if isinstance(place, (str, bytes, os.PathLike)) else str(folder)
    return DiskTrouble(
        f"{shown} could not be written: {error.strerror or type(error).__name__} "
        f"({errno.errorcode.get(error.errno or 0, 'no number')}).",
        hint=_ODD if error.errno == errno.EINVAL else _LOOK,
    )


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable (a rename counts only after this)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync_opened(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes every byte of `data`, however often the system takes only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """`path` holds `data` afterwards, durably, or what it held before.

    Raises DiskFull with the bytes that are missing; OSError for anything else.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        with disk_errors(path.parent, len(data)):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            partial.replace(path)
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def make_folder(path: Path) -> None:
    """Makes `path` and its missing parents, each 0700; quiet when it exists."""
    missing = []
    step = path
    while not step.is_dir():
        missing.append(step)
        if step == step.parent:
            break
        step = step.parent
    for folder in reversed(missing):
        with disk_errors(folder.parent, 4096):
            folder.mkdir(mode=0o700, exist_ok=True)


def moved_folder(source: Path, target: Path) -> list[str]:
    """Renames a folder within one file system; gives the folders that are to be made durable then.

    `target` must not exist; its parents are made.
    """
    make_folder(target.parent)
    with disk_errors(target.parent, 4096):
        source.rename(target)
    return [os.fspath(target.parent), os.fspath(source.parent)]
