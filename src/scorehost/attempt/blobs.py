"""Contents that attempts share: each is stored once below runs/.blobs and linked where it is needed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from scorehost.attempt.atomic import disk_errors, make_folder
from scorehost.hosts.tree import CHUNK


class Blobs:
    """A folder of contents by sha256. Safe for several jobs at a time: a content appears by rename."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, pieces: Iterator[bytes], *, executable: bool) -> tuple[str, Path]:
        """Stores what the pieces hold together; (hex sha256, path). Raises DiskFull."""
        incoming = self._folder / "incoming"
        make_folder(incoming)
        draft = incoming / secrets.token_hex(8)
        digest = hashlib.sha256()
        try:
            with disk_errors(self._folder, CHUNK), draft.open("xb") as stream:
                os.fchmod(stream.fileno(), 0o700 if executable else 0o600)
                for data in pieces:
                    digest.update(data)
                    stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            name = digest.hexdigest()
            target = self._folder / name[:2] / (name + ("x" if executable else ""))
            if target.exists():
                draft.unlink()
            else:
                make_folder(target.parent)
                draft.rename(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return name, target
