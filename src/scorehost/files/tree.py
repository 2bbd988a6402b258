"""Files that go into a host: a frozen list of entries, its digest, and the archive that carries it."""

from __future__ import annotations

import functools
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

CHUNK = 1024 * 1024
SENT_BYTES = 256 * 1024  # of a file at a time: larger pieces leave the cache before they are sent
TRUSTED_BYTES = 4 * 1024 * 1024  # from here on a file is hashed by its receiver alone, if that does
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    """One regular file: `path` below the tree's folder (surrogates carry bytes that are not UTF-8), where its
    content lies on disk, and what the content is known to be.
    """

    path: str
    source: Path
    sha256: str
    size: int
    executable: bool = False
    data: bytes | None = field(
        default=None, compare=False, repr=False
    )  # the content, where it is kept in memory


@dataclass(frozen=True, slots=True)
class Tree:
    """Files below one folder of a host, in byte order of path, with empty folders that it needs.

    `links` are symbolic ones of ours, from path to target; no digest counts them.
    """

    entries: tuple[Entry, ...] = ()
    folders: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of content."""
        return sum(entry.size for entry in self.entries)

    @property
    def in_memory(self) -> int:
        """Bytes that a copy takes on a tmpfs: whole pages, and at least one for each file and folder."""
        pages = sum(max(1, -(-entry.size // _PAGE)) for entry in self.entries)
        return (pages + len(self.all_folders)) * _PAGE

    @property
    def all_folders(self) -> frozenset[str]:
        """Every folder below the tree's own, whether it is empty or holds something."""
        folders = {entry.path[:end] for entry in self.entries for end in _slashes(entry.path)}
        return frozenset(folders | set(self.folders))

    @property
    def digest(self) -> str:
        """`sha256:` over `path NUL x-or-dash NUL content-sha256 LF` per file, in byte order of path."""
        return _digest(self)


@functools.lru_cache(maxsize=256)
def _digest(tree: Tree) -> str:
    digest = hashlib.sha256()
    for entry in sorted(tree.entries, key=lambda entry: name_bytes(entry.path)):
        mode = b"x" if entry.executable else b"-"
        digest.update(b"\0".join((name_bytes(entry.path), mode, entry.sha256.encode())) + b"\n")
    return "sha256:" + digest.hexdigest()


def _slashes(path: str) -> list[int]:
    return [place for place, letter in enumerate(path) if letter == "/"]


def name_bytes(name: str) -> bytes:
    """A path as the bytes that the file system holds."""
    return name.encode("utf-8", "surrogateescape")


def held(tree: Tree) -> Tree:
    """The same tree with its contents in memory, for what is small and goes into every host.

    Raises ChangedWhileSent when a file is not what its entry says.
    """
    entries = []
    for entry in tree.entries:
        data = entry.source.read_bytes()
        if hashlib.sha256(data).hexdigest() != entry.sha256:
            raise ChangedWhileSent(entry.path)
        entries.append(replace(entry, data=data))
    return replace(tree, entries=tuple(entries))


def read_tree(files: Iterable[tuple[str, Path]]) -> Tree:
    """A tree of dataset files, hashed as they are now. Raises OSError when one cannot be read."""
    entries = []
    for path, source in files:
        with source.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
        status = source.stat()
        entries.append(Entry(path, source, digest.hexdigest(), status.st_size, bool(status.st_mode & 0o100)))
    return Tree(tuple(entries))


class ChangedWhileSent(Exception):
    """A file was not the one that had been hashed when it was put into the archive; `path` names it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def archive(
    trees: Iterable[tuple[str, Tree]],
    links: Mapping[str, str] = MappingProxyType({}),
    *,
    digested: bool = False,
) -> Iterator[bytes]:
    """A tar archive of the trees, each below its folder, in pieces of about 256 KiB.

    `links` are further symbolic ones of ours, from path to target.

    All is owned by root with modes 0644, 0755 for folders and what may be executed, times 0. Every content is
    hashed again while it is read: raises `ChangedWhileSent` when it is not what the entry says.
    `digested`: whoever unpacks it digests all of it and says so. A large file is then not hashed here too,
    which would take a third of its sending; `changed_source` tells afterwards whether it was the file that
    differed.
    """
    made: set[str] = set()
    pending = io.BytesIO()
    for path, target in links.items():
        pending.write(_header(path, tarfile.SYMTYPE, 0, 0o777, target))
    for folder, tree in trees:
        prefix = f"{folder}/" if folder else ""
        names = [folder] if folder else []
        names += [prefix + name for name in tree.folders]
        for name in names:
            pending.write(_folders(name, made))
        for path, target in tree.links:
            pending.write(_header(prefix + path, tarfile.SYMTYPE, 0, 0o777, target))
        for entry in tree.entries:
            path = prefix + entry.path
            parent = path.rpartition("/")[0]
            if parent:
                pending.write(_folders(parent, made))
            pending.write(_header(path, tarfile.REGTYPE, entry.size, 0o755 if entry.executable else 0o644))
            for piece in pieces(entry, path, hashed=not digested or entry.size < TRUSTED_BYTES):
                if pending.tell() + len(piece) > SENT_BYTES:
                    yield pending.getvalue()
                    pending = io.BytesIO()
                if len(piece) == SENT_BYTES:
                    yield piece  # as it is: a copy costs as much as a read
                else:
                    pending.write(piece)
            pending.write(b"\0" * (-entry.size % tarfile.BLOCKSIZE))
    pending.write(b"\0" * (2 * tarfile.BLOCKSIZE))
    yield pending.getvalue()


def pieces(entry: Entry, path: str, *, hashed: bool = True) -> Iterator[bytes]:
    """The content of an entry; ChangedWhileSent, which names `path`, when it is not what the entry says.

    Not `hashed`: only its size is compared.
    """
    if entry.data is not None:
        yield entry.data
        return
    digest = hashlib.sha256()
    sent = 0
    try:
        stream = entry.source.open("rb")
    except OSError:
        raise ChangedWhileSent(path) from None
    with stream:
        while data := stream.read(SENT_BYTES):
            sent += len(data)
            if sent > entry.size:
                raise ChangedWhileSent(path)
            if hashed:
                digest.update(data)
            yield data
    if sent != entry.size or (hashed and digest.hexdigest() != entry.sha256):
        raise ChangedWhileSent(path)


def changed_source(trees: Iterable[tuple[str, Tree]]) -> str:
    """The first file on disk that is not what its entry says, by its path in the archive; "" when all are.

    Reads all of them: for when a receiver saw something else than was meant to be sent.
    """
    for folder, tree in trees:
        for entry in tree.entries:
            path = f"{folder}/{entry.path}" if folder else entry.path
            try:
                for _piece in pieces(entry, path):
                    pass
            except ChangedWhileSent:
                return path
    return ""


def _folders(name: str, made: set[str]) -> bytes:
    headers = []
    parts = name.split("/")
    for count in range(1, len(parts) + 1):
        path = "/".join(parts[:count])
        if path not in made:
            made.add(path)
            headers.append(_header(path, tarfile.DIRTYPE, 0, 0o755))
    return b"".join(headers)


@functools.lru_cache(maxsize=1024)
def _header(path: str, kind: bytes, size: int, mode: int, target: str = "") -> bytes:
    info = tarfile.TarInfo(path)
    info.linkname = target
    info.type, info.size, info.mode = kind, size, mode
    # GNU format carries any bytes in names and any size; PAX would need names that are UTF-8.
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
