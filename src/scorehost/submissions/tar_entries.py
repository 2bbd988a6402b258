"""Entries of a tar archive, plain or packed by gzip, bzip2 or xz, in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from scorehost.aio.aside import still_wanted
from scorehost.submissions.entries import CHUNK, HEADER_BYTES, BadArchive, Caps, Entry, parts_of, shown
from scorehost.submissions.odd import ONLY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ALL_HEADERS_BYTES = 16 * 1024 * 1024  # of all members' headers beyond 2 KiB each: a MiB takes half a second
MEMBER_HEADER_BYTES = 4 * 512  # that each member may add to this: its own header, and one of pax with a path
GLOBAL_HEADERS = 64  # keys that hold for all members: tarfile copies them for each (`git archive` writes one)
DICTIONARY_BYTES = 128 * 1024 * 1024  # of memory to unpack xz: `xz -9`, its largest preset, needs 65 MiB
_MAGIC_BYTES = 6
_XZ, _GZIP, _BZIP2 = b"\xfd7zXZ\0", b"\x1f\x8b", b"BZh"
# What gzip and lzma say where no other stream begins: it is no part of the archive.
_NO_MAGIC = ("Not a gzipped file", "Input format not supported")
_KINDS = {
    tarfile.SYMTYPE: "a link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a FIFO",
}


@contextmanager
def tar_entries(archive: Path, caps: Caps, warn: Callable[[str], None]) -> Iterator[Iterator[Entry]]:
    """The entries in order. What packed it is seen by its first bytes, whatever its name says."""
    # Headers, padding and long names count into the cap too: a bomb of empty entries ends as one of data.
    allowed = caps.size + caps.entries * 4 * 512 + HEADER_BYTES
    with archive.open("rb") as file:
        magic = file.read(_MAGIC_BYTES)
        file.seek(0)
        bounded = _Bounded(_unpacked(file, magic), allowed)
        with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:", errorlevel=2) as tar:
            yield _members(tar, bounded, warn)


def _unpacked(file: IO[bytes], magic: bytes) -> IO[bytes]:
    if magic.startswith(_GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if magic.startswith(_BZIP2):
        return cast("IO[bytes]", bz2.BZ2File(file, "rb"))
    if magic == _XZ:
        return cast("IO[bytes]", _Xz(file))
    return file


class _Xz(io.RawIOBase):
    """lzma.open, but with a limit to the memory that an archive can ask for."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__()
        self._packed = packed
        self._state = self._new()
        self._any = False

    def _new(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DICTIONARY_BYTES)

    def read(self, size: int = -1) -> bytes:
        wanted = CHUNK if size < 0 else size
        while wanted:
            rest = b""
            if self._state.eof:  # several streams may follow one another, with zeros between them
                rest = self._state.unused_data.lstrip(b"\0")
                while not rest and (more := self._packed.read(CHUNK)):
                    rest = more.lstrip(b"\0")
                if not rest:
                    return b""
                self._state = self._new()
            elif self._state.needs_input:
                rest = self._packed.read(CHUNK)
                if not rest:
                    raise EOFError("its end is missing")
            try:
                data = self._state.decompress(rest, wanted)
            except lzma.LZMAError as error:
                if "memory" in str(error).lower():
                    text = f"it needs more than {DICTIONARY_BYTES // 1024**2} MiB of memory to unpack"
                    raise BadArchive(f"{text}; pack it with `xz -9` or less") from None
                raise
            if data:
                return data
        return b""


class _Bounded(io.RawIOBase):
    """Reads forward only; at most so many bytes in all, `header_left` between two members' contents, and
    `headers_left` of such headers together.

    tarfile takes extended headers into memory as large as they say that they are.
    """

    def __init__(self, stream: IO[bytes], allowed: int) -> None:
        super().__init__()
        self.header_left: int | None = HEADER_BYTES
        self.headers_left = ALL_HEADERS_BYTES
        self.last = b""  # what was read last
        self._stream = stream
        self._left = allowed
        self._place = 0

    def read(self, size: int = -1) -> bytes:
        wanted = self._left + 1 if size < 0 else size
        if self.header_left is not None:
            self.header_left -= wanted
            self.headers_left -= wanted
            if self.header_left < 0:
                raise BadArchive(f"it has a header of more than {HEADER_BYTES} bytes")
            if self.headers_left < 0:
                raise BadArchive(f"its headers are {ALL_HEADERS_BYTES} bytes longer than is usual")
        pieces: list[bytes] = []
        missing = min(wanted, self._left + 1)
        while missing and (data := self._stream.read(missing)):
            pieces.append(data)
            missing -= len(data)
        taken = b"".join(pieces)
        self.last = taken
        self._left -= len(taken)
        self._place += len(taken)
        if self._left < 0:
            raise BadArchive("it unpacks to more than a submission may hold")
        return taken

    def tell(self) -> int:
        return self._place

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or place < self._place:
            raise BadArchive("its headers point backwards")
        left, self.header_left = self.header_left, None  # contents that are passed over are no headers
        while self._place < place:
            still_wanted()
            if not self.read(min(place - self._place, CHUNK)):
                break
        self.header_left = left
        return self._place


def _members(tar: tarfile.TarFile, bounded: _Bounded, warn: Callable[[str], None]) -> Iterator[Entry]:
    while True:
        bounded.header_left = HEADER_BYTES
        bounded.headers_left += MEMBER_HEADER_BYTES
        member = tar.next()
        bounded.header_left = None
        if len(tar.pax_headers) > GLOBAL_HEADERS:
            raise BadArchive(f"it has more than {GLOBAL_HEADERS} global headers")
        if member is None:
            _at_end(bounded, warn)
            return
        tar.members = []  # type: ignore[attr-defined]  # it would keep all of them
        yield _entry(tar, member)


def _at_end(bounded: _Bounded, warn: Callable[[str], None]) -> None:
    """Tarfile takes a header that it cannot read, and a missing one, for the end: what follows would be lost.

    What packed the archive is read to its end too, where its checksum stands.
    """
    if not bounded.last:
        warn("it has no mark at its end, and may be cut off; what it holds before that is taken")
    elif bounded.last != bytes(tarfile.BLOCKSIZE):
        raise BadArchive("it is damaged or cut off: there is a header that cannot be read")
    more = False
    try:
        while data := bounded.read(CHUNK):
            still_wanted()
            more = more or bool(data.strip(b"\0"))
    except (gzip.BadGzipFile, lzma.LZMAError) as error:
        if not str(error).startswith(_NO_MAGIC):
            raise
        more = True
    if more:
        warn("something follows the mark at its end, and is not read")


def _entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    # tarfile prefers `path`, which GNU tar writes too where a sparse file's name is long or not UTF-8.
    parts = parts_of(member.pax_headers.get("GNU.sparse.name", member.name))
    if member.size < 0:
        raise BadArchive(f"{shown(member.name)} has a negative size")
    if member.isdir():
        return Entry(parts)
    if member.islnk():
        try:
            target = parts_of(member.linkname)
        except BadArchive:
            return Entry(parts, odd=f"is a hard link out of the archive, to {shown(member.linkname)}")
        return Entry(parts, link=target)
    if not member.isreg():
        return Entry(parts, odd=f"is {_KINDS.get(member.type, 'something unknown')}; {ONLY}")
    return Entry(
        parts,
        content=lambda: cast("IO[bytes]", tar.extractfile(member)),
        executable=bool(member.mode & 0o100),
    )
