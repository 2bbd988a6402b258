"""Regular files below one folder, read through descriptors: no link is followed, no FIFO waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFREG: "a file",
}


class Unread(Exception):
    """A file is not read: `place` is its path below the folder, or the step of it that stands in the way.

    `missing`: nothing is there. `why` says it in words.
    """

    def __init__(self, place: str, why: str, *, missing: bool = False) -> None:
        super().__init__(f"{place}: {why}")
        self.place = place
        self.why = why
        self.missing = missing


class Below:
    """What lies below a folder. The folder itself may be reached by a link: its caller named it.

    The folders on the way to the last file stay open, since the next file often lies beside it. For one
    thread at a time; closed by `with`.
    """

    def __init__(self, folder: Path | str) -> None:
        """Raises Unread when there is no such folder."""
        self._way: list[tuple[str, int]] = []
        try:
            self._top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            raise Unread(str(folder), os.strerror(error.errno or 0), missing=missing) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._back_to(0)
        os.close(self._top)

    def read(self, path: str, most: int) -> bytes:
        """A regular file of at most `most` bytes. Raises Unread for anything else."""
        descriptor = self.open(path)
        try:
            size = os.fstat(descriptor).st_size
            if size > most:
                raise Unread(path, f"has {size} bytes, more than the {most} that are read")
            parts, left = [], most + 1
            while left and (data := os.read(descriptor, min(left, size + 1, _CHUNK))):
                parts.append(data)
                left -= len(data)
                if most + 1 - left == size:  # most often at once: what comes later was not there when asked
                    break
        except OSError as error:
            raise Unread(path, os.strerror(error.errno or 0)) from None
        finally:
            os.close(descriptor)
        if not left:
            raise Unread(path, f"grew past the {most} bytes that are read")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def open(self, path: str) -> int:
        """A descriptor of a regular file, which the caller closes. Raises Unread."""
        folder, _, name = path.rpartition("/")
        above = self._folder(folder)
        descriptor = _opened(name, _FILE, above, path)
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            raise Unread(path, f"is {kind_of(mode)}")
        return descriptor

    def names(self, path: str = "") -> list[tuple[str, int]]:
        """Names in a folder with the kind of each (as `stat.S_IFMT` gives it), sorted. Raises Unread."""
        above = self._folder(path)
        found = []
        try:
            with os.scandir(above) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        kind = stat.S_IFLNK
                    elif entry.is_dir(follow_symlinks=False):
                        kind = stat.S_IFDIR
                    elif entry.is_file(follow_symlinks=False):
                        kind = stat.S_IFREG
                    else:
                        kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                    found.append((entry.name, kind))
        except OSError as error:
            raise Unread(path, os.strerror(error.errno or 0)) from None
        return sorted(found)

    def there(self, path: str) -> bool:
        """Whether anything of that name is there, if only a link that leads nowhere."""
        folder, _, name = path.rpartition("/")
        try:
            os.stat(name, dir_fd=self._folder(folder), follow_symlinks=False)
        except Unread as error:
            return not error.missing
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def _folder(self, path: str) -> int:
        steps = path.split("/") if path else []
        same = 0
        for (name, _), step in zip(self._way, steps, strict=False):
            if name != step:
                break
            same += 1
        self._back_to(same)
        for place in range(same, len(steps)):
            above = self._way[-1][1] if self._way else self._top
            self._way.append(
                (steps[place], _opened(steps[place], _FOLDER, above, "/".join(steps[: place + 1])))
            )
        return self._way[-1][1] if self._way else self._top

    def _back_to(self, steps: int) -> None:
        while len(self._way) > steps:
            os.close(self._way.pop()[1])


def read_below(folder: Path | str, path: str, most: int) -> bytes:
    """One file of a folder, as `Below.read`."""
    with Below(folder) as below:
        return below.read(path, most)


def kind_of(mode: int) -> str:
    """What a mode is, in words: `a FIFO`."""
    return _KINDS.get(stat.S_IFMT(mode), "something unknown")


def _opened(name: str, flags: int, folder: int, shown: str) -> int:
    if name in ("", ".", ".."):
        raise Unread(shown, "is no plain path")
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise Unread(shown, "is not there", missing=True) from None
    except OSError as error:
        raise Unread(shown, _said(name, folder, error, flags)) from None


def _said(name: str, folder: int, error: OSError, flags: int) -> str:
    try:
        kind = stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return os.strerror(error.errno or 0)
    wanted = (stat.S_IFDIR,) if flags == _FOLDER else (stat.S_IFREG, stat.S_IFDIR)
    if kind in wanted:
        return os.strerror(error.errno or 0)
    return f"is {kind_of(kind)}" + (", not a folder" if flags == _FOLDER else "")
