"""Opens what lies in a sample: no link is followed, and what cannot be taken is refused in words.

Every folder is opened by descriptor from the one above it, and every file is looked at (`fstat`) after it was
opened, so that nothing can be exchanged in between.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.files.below import kind_of
from scorehost.files.names import on_one_line
from scorehost.files.tree import CHUNK
from scorehost.submissions.odd import ASIDE, ONLY, Odd

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DENIED = (errno.EACCES, errno.EPERM)
# What opening says of links, of sockets and devices without a driver, and of what may not be read.
_ITS_OWN = (*_DENIED, errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP)
# A file's time of change is that of the last tick of the system's clock (4 ms at 250 Hz, 10 ms at 100 Hz), or
# on some file systems that of the last second (two on FAT): a change within one tick cannot be told.
_TICK_SECONDS, _COARSE_TICK_SECONDS = 0.02, 2.0
_SECOND = 1_000_000_000


class Refused(Exception):
    """It is not what a submission may hold: the submission's own doing."""


class Changed(Exception):
    """It did not stay the same while it was copied: nobody's doing who handed in.

    `final`: another copy cannot end better.
    """

    def __init__(self, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.final = final


def open_at(name: str, folder: int, shown: str, odd: Odd) -> int | None:
    """A descriptor of the file or folder `name` in `folder`; None when nothing is there.

    `odd`: what the archive that it comes from had there. `shown` is how messages call it.
    """
    if odd.why:
        raise Refused(f"{on_one_line(shown)} {odd.why}")
    try:
        return os.open(name, _OPEN, dir_fd=folder)
    except FileNotFoundError:
        if why := odd.first():
            raise Refused(f"what is below {on_one_line(shown)} {why}") from None
        return None
    except OSError as error:
        if error.errno not in _ITS_OWN:  # too many open files, say: no fault of what is opened
            raise
        try:
            kind = kind_of(os.lstat(name, dir_fd=folder).st_mode)
        except OSError:
            kind = "something unknown"
        if error.errno in _DENIED:
            raise Refused(f"{on_one_line(shown)} is {kind} that cannot be read: permission denied") from None
        raise Refused(f"{on_one_line(shown)} is {kind}; {ONLY}") from None


@contextmanager
def opened_folder(path: str, shown: str) -> Iterator[int]:
    """A descriptor of the folder at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"{shown} cannot be opened: {os.strerror(error.errno or 0)}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_at(descriptor: int, shown: str) -> bytes:
    """The next bytes of a file."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError as error:
        text = os.strerror(error.errno or 0)
        raise Refused(f"{on_one_line(shown)} is a file that cannot be read: {text}") from None


def expect(descriptor: int, kind: int, shown: str, wanted: str) -> None:
    """Raises Refused when what was opened is of another kind."""
    mode = os.fstat(descriptor).st_mode
    if stat.S_IFMT(mode) != kind:
        raise Refused(f"{on_one_line(shown)} is {kind_of(mode)}, not {wanted}")


def names_in(folder: int, odd: Odd) -> Iterator[str]:
    """Every name in a folder, and those that only its archive had there."""
    found: set[str] = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            found.add(entry.name)
            yield entry.name
    for name, place in odd.below.items():
        if name not in found and (place.why != ASIDE or place.below):
            yield name


@dataclass(frozen=True, slots=True)
class Still:
    """What a file or folder was when its copying began, to be held against what it is at the end."""

    descriptor: int
    seen: tuple[int, int]

    @classmethod
    def of(cls, descriptor: int) -> Still:
        """As it is now, once a later change cannot look like this one: waits for the clock's next tick."""
        status = os.fstat(descriptor)
        coarse = status.st_mtime_ns % _SECOND == 0
        tick = _COARSE_TICK_SECONDS if coarse else _TICK_SECONDS
        age = (time.time_ns() - status.st_mtime_ns) / _SECOND
        if 0 <= age < tick:
            time.sleep(tick - age)
            status = os.fstat(descriptor)
        return cls(descriptor, (status.st_mtime_ns, status.st_size))

    def check(self, shown: str) -> None:
        """Raises Changed when it is not what it was."""
        status = os.fstat(self.descriptor)
        if (status.st_mtime_ns, status.st_size) != self.seen:
            raise Changed(f"{on_one_line(shown)} changed while it was copied")
