"""Entries of a zip archive as the programs of Windows, macOS and Unix write it, in bounded memory."""

from __future__ import annotations

import errno
import functools
import io
import os
import stat
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scorehost.submissions.entries import HEADER_BYTES, BadArchive, Caps, Entry, parts_of
from scorehost.submissions.odd import ONLY
from scorehost.submissions.spellings import encoding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

_LISTED_BYTES = 256  # of a zip's table of contents for each entry: the name, and what is said of it
# Of these two unpacking takes little memory, however they were packed; LZMA takes what the archive asks for.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_METHOD_NAMES = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "xz", 98: "PPMd", 99: "AES"}
_ENCRYPTED, _IS_UTF8 = 0x1, 0x800
_DOS = frozenset({0, 6, 10, 11, 14})  # systems whose paths have backslashes: MS-DOS, OS/2, NTFS, MVS, VFAT
_UNIX = frozenset({3, 19})
_DOS_FOLDER = 0x10
_UNICODE_PATH = 0x7075  # extra field of Info-ZIP: the name in UTF-8, with a checksum of the other one


@contextmanager
def zip_entries(
    archive: Path, caps: Caps, declared: Iterable[str], warn: Callable[[str], None]
) -> Iterator[Iterator[Entry]]:
    """The entries in order. `declared` are names by which an unknown encoding of names is told."""
    most = HEADER_BYTES + caps.entries * _LISTED_BYTES
    with _Modest(archive, most) as file, zipfile.ZipFile(file) as opened:
        infos = opened.infolist()
        if len(infos) > caps.entries:
            raise BadArchive(f"it holds more than {caps.entries} entries")
        yield _members(opened, _names(infos, declared, warn))


class _Modest(io.BufferedReader):
    """Gives so many bytes at once at most: zipfile reads a whole table of contents, however large."""

    def __init__(self, path: Path, most: int) -> None:
        super().__init__(io.FileIO(path, "rb"))
        self._most = most
        self._size = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._most + 1 if size is None or size < 0 else size
        # No more than is there: a buffer of the whole size is made before anything is read.
        data = super().read(min(wanted, self._most + 1, max(0, self._size - self.tell())))
        if len(data) > self._most:
            raise BadArchive(f"its table of contents has more than {self._most} bytes")
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        try:
            return super().seek(offset, whence)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise BadArchive("it is damaged: it points to places before its beginning") from None


def _members(opened: zipfile.ZipFile, named: Iterable[tuple[zipfile.ZipInfo, str]]) -> Iterator[Entry]:
    for info, name in named:
        parts = parts_of(name)
        mode = info.external_attr >> 16
        kind = stat.S_IFMT(mode)
        if name.endswith("/") or (not kind and info.external_attr & _DOS_FOLDER and not info.file_size):
            yield Entry(parts)
        elif kind not in (0, stat.S_IFREG):
            what = "a link" if kind == stat.S_IFLNK else "something special"
            yield Entry(parts, odd=f"is {what}; {ONLY}")
        elif info.flag_bits & _ENCRYPTED:
            yield Entry(parts, odd="is encrypted, and nobody asks for a password here")
        elif info.compress_type not in _METHODS:
            method = _METHOD_NAMES.get(info.compress_type, f"method {info.compress_type}")
            text = f"is compressed by {method}; of zip only `stored` and `deflate` are read"
            yield Entry(parts, odd=text)
        else:
            yield Entry(parts, content=functools.partial(opened.open, info), executable=bool(mode & 0o100))


def _names(
    infos: Sequence[zipfile.ZipInfo], declared: Iterable[str], warn: Callable[[str], None]
) -> list[tuple[zipfile.ZipInfo, str]]:
    """Each entry with its name, its encoding found and its separators made `/`."""
    told = [_told(info) for info in infos]
    unknown = [info for info, name in zip(infos, told, strict=True) if name is None]
    code = _encoding([info.orig_filename.encode("cp437") for info in unknown], declared)
    if unknown and not code:
        warn("its names are not in UTF-8 and it does not say in what; they are read as cp437, as zip defines")
    elif code not in ("", "utf-8"):
        warn(f"its names are not in UTF-8; they are read as {code}, in which a declared name is among them")
    names = [_guessed(info, code) if name is None else name for info, name in zip(infos, told, strict=True)]
    if "\\" in "".join(names) and _by_windows(infos, names):
        warn("its names have backslashes, as Windows writes paths; they are read as `/`")
        names = [name.replace("\\", "/") for name in names]
    return list(zip(infos, names, strict=True))


def _guessed(info: zipfile.ZipInfo, code: str) -> str:
    return info.orig_filename.encode("cp437").decode(code or "cp437", "surrogateescape")


def _told(info: zipfile.ZipInfo) -> str | None:
    """The name where the archive says how it is encoded; None where it does not.

    Unix packs the bytes that a folder has: each name is taken as it would be from there, since one archive
    may hold names of several encodings.
    """
    raw = info.orig_filename  # with what stands after a NUL, which `filename` has lost
    if info.flag_bits & _IS_UTF8 or raw.isascii():
        return raw
    extra, place = info.extra, 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, place)
        body = extra[place + 4 : place + 4 + size]
        if kind == _UNICODE_PATH and body[1:5] == zlib.crc32(raw.encode("cp437")).to_bytes(4, "little"):
            try:
                return body[5:].decode("utf-8")
            except UnicodeDecodeError:
                break
        place += 4 + size
    if info.create_system in _UNIX:
        return raw.encode("cp437").decode("utf-8", "surrogateescape")
    return None


def _encoding(names: Sequence[bytes], declared: Iterable[str]) -> str:
    """The one encoding of all names that do not tell theirs; "" when it is not known."""
    try:
        for name in names:
            name.decode("utf-8")
    except UnicodeDecodeError:
        return encoding_of(names, declared) or ""
    return "utf-8" if names else ""


def _by_windows(infos: Sequence[zipfile.ZipInfo], names: Sequence[str]) -> bool:
    """Whether backslashes are separators: nothing with one was packed where a name may have it."""
    return all(info.create_system in _DOS for info, name in zip(infos, names, strict=True) if "\\" in name)
