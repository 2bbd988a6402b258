"""Archives as request bodies: read piece by piece, so that memory does not grow with their size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE_BYTES = 256 * 1024


def body_of(archive: Path | bytes | Iterable[bytes]) -> tuple[Iterable[bytes], int | None]:
    """The pieces, and how many bytes they are (None: only their end tells). OSError for a missing file."""
    if isinstance(archive, bytes):
        return (archive,), len(archive)
    if isinstance(archive, Path):
        return _pieces(archive), archive.stat().st_size
    return archive, None


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(PIECE_BYTES):
            yield data
