"""Files and folders that survive a power cut from here on: one wait for many of them."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
from collections.abc import Callable, Iterable

NO_SYNC = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF)
MANY = 64  # from so many on one sync of their file system is quicker than one of each


def make_durable(paths: Iterable[str | int]) -> None:
    """Waits until the disk has each of these files and folders, given by path or by open descriptor.

    Slow: belongs into a thread. All of them lie on one file system. Raises OSError.
    """
    for fault in durable_or_not(paths).values():
        raise fault


def durable_or_not(paths: Iterable[str | int]) -> dict[str | int, OSError]:
    """The same; gives those that the disk does not have, and why.

    None is tried twice: a kernel tells a lost write once, and says afterwards that all is well.
    """
    wanted = dict.fromkeys(paths)
    faults: dict[str | int, OSError] = {}
    if len(wanted) > MANY:
        try:
            _sync_around(next(iter(wanted)))
        except OSError as error:
            faults = dict.fromkeys(wanted, error)
        return faults
    for path in wanted:
        try:
            _sync(path)
        except OSError as error:
            faults[path] = error
    return faults


def _sync(path: str | int) -> None:
    if isinstance(path, int):
        os.fsync(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_opened(descriptor)
    finally:
        os.close(descriptor)


def sync_opened(descriptor: int) -> None:
    """Syncs a file or folder; quiet for a folder where the file system syncs none (SMB, some of FUSE): its
    names are then as durable as that file system makes them by itself.
    """
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC or not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise


def _sync_around(path: str | int) -> None:
    """Syncs the file system that holds `path`; where only that of all is to be had, all of them."""
    syncfs = _syncfs()
    if syncfs is None:
        os.sync()
        return
    descriptor = os.dup(path) if isinstance(path, int) else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if syncfs(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)


@functools.cache
def _syncfs() -> Callable[[int], int] | None:
    # Linux alone has it, and Python does not offer it.
    try:
        found = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = (ctypes.c_int,), ctypes.c_int
    return found
