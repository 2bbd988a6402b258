"""What both kinds of archives are read as: entries with plain paths, within caps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING

from scorehost.files.names import on_one_line
from scorehost.files.tree import name_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

MAX_FILES = 100_000  # that are wanted; each sample may have 10,000, and an archive may hold very many samples
MAX_BYTES = 4 * 1024**3  # of what one submission hands in for an attempt: it is copied, hashed and sent
MAX_ENTRIES = 100_000  # listed, wanted or not: they are read one by one, and a zip's all at once
MAX_NAME_BYTES = 4_096  # of a path in an archive: as long as a path on Linux may be
MAX_LEVELS = 128  # of folders: twice what a tree artifact may have, for what it is packed in
HEADER_BYTES = 1024 * 1024  # of what stands between the contents of two members of a tar
CHUNK = 256 * 1024
_NAME_MAX = 255  # bytes, of Linux
_SHOWN = 120


class BadArchive(ValueError):
    """The archive is refused as a whole; the message says why."""


@dataclass(frozen=True, slots=True)
class Caps:
    """How much an archive may hold: wanted files, bytes in all, entries in all; `one`: bytes of one file, of
    which no more is unpacked: that one is refused at its place.
    """

    files: int = MAX_FILES
    size: int = MAX_BYTES
    entries: int = MAX_ENTRIES
    one: int = MAX_BYTES


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. A folder unless it has one of: `content`, `link` (it is that file of the archive once more),
    `odd` (why it cannot be taken).
    """

    parts: tuple[str, ...]
    content: Callable[[], AbstractContextManager[IO[bytes]]] | None = None
    executable: bool = False
    link: tuple[str, ...] | None = None
    odd: str = ""


def parts_of(name: str) -> tuple[str, ...]:
    """The steps of an entry's name. BadArchive for one that leads out of the archive, or that no file has."""
    if len(name_bytes(name)) > MAX_NAME_BYTES or "\0" in name:
        raise BadArchive(f"the name {shown(name)} is too long or holds NUL")
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise BadArchive(f"{shown(name)} points out of the archive")
    if any(len(name_bytes(part)) > _NAME_MAX for part in path.parts):
        raise BadArchive(f"the name {shown(name)} is too long")
    return path.parts


def shown(name: str) -> str:
    """A name from an archive, for a message."""
    return on_one_line(name[:_SHOWN])
