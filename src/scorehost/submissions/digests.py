"""The digest of one file, read in parts by work that may be given up."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from scorehost.aio.aside import still_wanted

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK = 1024 * 1024


def file_digest(path: Path | str) -> str:
    """`sha256:` and the hex digest of a file's bytes. OSError when it cannot be read."""
    hasher = hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - also takes plain text paths, 10,000 of them
        while chunk := stream.read(_CHUNK):
            still_wanted()
            hasher.update(chunk)
    return "sha256:" + hasher.hexdigest()
