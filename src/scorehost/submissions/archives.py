"""Archives of submissions (.zip, .tar.gz) unpacked as coming from hostile hands.

Only regular files and folders, no absolute names, no `..`; files and bytes are capped, and the caps are held
while unpacking, so an archive that lies about its sizes gains nothing. Plain synchronous code.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from scorehost.aio.aside import still_wanted
from scorehost.files.atomic import FULL, disk_errors, make_folder
from scorehost.files.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = (".tar.gz", ".tgz", ".zip")
MAX_FILES = 10_000
MAX_BYTES = 4 * 1024**3
MAX_ENTRIES = 20_000  # files and folders together
MAX_NAME_BYTES = 4_096
MAX_LEVELS = 128  # of folders: twice what a tree artifact may have, for what it is packed in
_CHUNK = 256 * 1024
_HEADER_BYTES = 1024 * 1024
_LISTED_BYTES = 512  # of a zip's table of contents for each entry: the name, and what is said of it


class BadArchive(ValueError):
    """The archive is refused; the message says which entry and why."""


@dataclass(frozen=True, slots=True)
class Caps:
    """How much an archive may hold."""

    files: int = MAX_FILES
    size: int = MAX_BYTES
    entries: int = MAX_ENTRIES


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    executable: bool = False
    stream: IO[bytes] | None = None  # None: a folder


def archive_suffix(name: str) -> str:
    """The suffix that makes `name` an archive, or ""."""
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


def unpack(archive: Path, target: Path, caps: Caps | None = None) -> None:
    """Unpacks `archive` into the new folder `target`.

    Raises BadArchive (then `target` may hold a part, which the caller removes), DiskFull, OSError.
    """
    limits = caps or Caps()
    if archive.stat().st_size > limits.size:
        raise BadArchive(f"it is larger than {limits.size} bytes")
    make_folder(target)
    opener = _zip_entries if archive_suffix(archive.name) == ".zip" else _tar_entries
    with disk_errors(target, _CHUNK), _reading(), opener(archive, limits) as entries:
        _write(entries, target, limits)


@contextmanager
def _reading() -> Iterator[None]:
    """Whatever a reader of archives makes of damaged bytes is a refusal; a full disk is not."""
    try:
        yield
    except BadArchive:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise
        raise BadArchive(f"it cannot be read: {error.strerror or _printable(str(error))}") from None
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error) as error:
        raise BadArchive(f"it is damaged: {_printable(str(error))}") from None
    except (ValueError, LookupError, OverflowError, EOFError, RuntimeError) as error:
        # RuntimeError: zipfile's word for an encrypted or unknown kind of member.
        raise BadArchive(f"it cannot be read: {_printable(str(error))}") from None


def _write(entries: Iterator[_Entry], target: Path, caps: Caps) -> None:
    files = total = count = 0
    for entry in entries:
        still_wanted()
        count += 1
        if count > caps.entries:
            raise BadArchive(f"it holds more than {caps.entries} entries")
        parts = _parts(entry.name)
        if not parts:
            continue
        if entry.stream is None:
            with _placed(entry):
                target.joinpath(*parts).mkdir(mode=0o700, parents=True, exist_ok=True)
            continue
        files += 1
        if files > caps.files:
            raise BadArchive(f"it holds more than {caps.files} files")
        with os.fdopen(_created(target.joinpath(*parts), entry), "wb") as out:
            while chunk := entry.stream.read(_CHUNK):
                still_wanted()
                total += len(chunk)
                if total > caps.size:
                    raise BadArchive(f"it unpacks to more than {caps.size} bytes")
                out.write(chunk)


def _created(place: Path, entry: _Entry) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with _placed(entry):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(place, flags, 0o700 if entry.executable else 0o600)


@contextmanager
def _placed(entry: _Entry) -> Iterator[None]:
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        text = f"{_printable(entry.name)} stands twice, or once as a file and once as a folder"
        raise BadArchive(text) from None


def _parts(name: str) -> tuple[str, ...]:
    shown = _printable(name)
    if len(os.fsencode(name)) > MAX_NAME_BYTES or "\0" in name:
        raise BadArchive(f"the name {shown} is too long or holds NUL")
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise BadArchive(f"{shown} points out of the archive")
    if len(path.parts) > MAX_LEVELS:
        raise BadArchive(f"{shown} lies deeper than {MAX_LEVELS} folders")
    if any(len(os.fsencode(part)) > 255 for part in path.parts):  # noqa: PLR2004 - NAME_MAX of Linux
        raise BadArchive(f"the name {shown} is too long")
    return path.parts


@contextmanager
def _tar_entries(archive: Path, caps: Caps) -> Iterator[Iterator[_Entry]]:
    # Headers, padding and long names count into the cap too: a bomb of empty entries ends as one of data.
    allowed = caps.size + caps.entries * 4 * 512 + _HEADER_BYTES
    with gzip.open(archive, "rb") as unzipped:
        bounded = _Bounded(unzipped, allowed)
        with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:", errorlevel=2) as tar:
            yield _tar_members(tar, bounded)


def _tar_members(tar: tarfile.TarFile, bounded: _Bounded) -> Iterator[_Entry]:
    while True:
        bounded.header_left = _HEADER_BYTES
        member = tar.next()
        bounded.header_left = None
        if member is None:
            return
        yield _tar_entry(tar, member)


class _Bounded(io.RawIOBase):
    """Reads forward only; at most so many bytes in all, and `header_left` between two members' contents.

    tarfile takes extended headers into memory as large as they say that they are.
    """

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, allowed: int) -> None:
        super().__init__()
        self.header_left: int | None = _HEADER_BYTES
        self._stream = stream
        self._left = allowed
        self._place = 0

    def read(self, size: int = -1) -> bytes:
        wanted = self._left + 1 if size < 0 else size
        if self.header_left is not None:
            self.header_left -= wanted
            if self.header_left < 0:
                raise BadArchive(f"it has a header of more than {_HEADER_BYTES} bytes")
        data = self._stream.read(min(wanted, self._left + 1))
        self._left -= len(data)
        self._place += len(data)
        if self._left < 0:
            raise BadArchive("it unpacks to more than a submission may hold")
        return data

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or place < self._place:
            raise BadArchive("its headers point backwards")
        while self._place < place:
            if not self.read(min(place - self._place, _CHUNK)):
                break
        return self._place


def _tar_entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> _Entry:
    if member.isdir():
        return _Entry(member.name)
    if not member.isreg() or member.issparse():
        kind = "a link" if member.issym() or member.islnk() else "no regular file"
        raise BadArchive(f"{_printable(member.name)} is {kind}")
    return _Entry(member.name, executable=bool(member.mode & 0o100), stream=tar.extractfile(member))


class _Modest(io.BufferedReader):
    """Gives so many bytes at once at most: zipfile reads a whole table of contents, however large."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(io.FileIO(path, "rb"))
        self._most = most

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._most + 1 if size is None or size < 0 else size
        data = super().read(min(wanted, self._most + 1))
        if len(data) > self._most:
            raise BadArchive(f"its table of contents has more than {self._most} bytes")
        return data


@contextmanager
def _zip_entries(archive: Path, caps: Caps) -> Iterator[Iterator[_Entry]]:
    most = _HEADER_BYTES + caps.entries * _LISTED_BYTES
    with _Modest(archive, most) as file, zipfile.ZipFile(file) as opened:
        if len(opened.infolist()) > caps.entries:
            raise BadArchive(f"it holds more than {caps.entries} entries")
        yield _zip_members(opened)


def _zip_members(opened: zipfile.ZipFile) -> Iterator[_Entry]:
    for info in opened.infolist():
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if "\\" in info.filename:
            raise BadArchive(f"{_printable(info.filename)} has a backslash in its name")
        if info.is_dir():
            yield _Entry(info.filename)
            continue
        if kind not in (0, stat.S_IFREG):
            what = "a link" if kind == stat.S_IFLNK else "no regular file"
            raise BadArchive(f"{_printable(info.filename)} is {what}")
        with opened.open(info) as stream:
            yield _Entry(info.filename, executable=bool(mode & 0o100), stream=stream)


def _printable(text: str) -> str:
    return visible(text[:120])
