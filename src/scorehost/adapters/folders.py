"""The fresh folders of one call: made, told by digest, and removed whatever the adapter left in them."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from scorehost.adapters.faults import failed
from scorehost.errors import CallFailed
from scorehost.files.lease import own_lease
from scorehost.files.removal import remove_tree
from scorehost.files.scratch import temporary_place

FILES, BYTES = 2_000, 64 * 1024 * 1024  # more than this is not read for a digest
PREFIX = "scorehost-call-"
FOREIGN = (OSError,)
_NAMES = ("work", "home", "config", "cache", "tmp")
_log = structlog.get_logger("scorehost.adapters")


@dataclass(frozen=True, slots=True)
class CallFolders:
    """`root` holds the five; the adapter starts in `work`."""

    root: Path

    @property
    def work(self) -> Path:
        """Where the adapter starts."""
        return self.root / "work"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name them."""
        places = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"}
        return {name: str(self.root / place) for name, place in places.items()}

    def digests(self) -> dict[str, str]:
        """`sha256:…` of each folder by name; `unread` for one that holds too much or cannot be read."""
        return {name: _digest(self.root / name) for name in _NAMES}


def translated(error: BaseException) -> CallFailed:
    """The fault of a call whose folders cannot be made or filled: no room, no right, no folder at all."""
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    text = f"no folders can be made for the call among the temporary files in {temporary_place()}: {why}"
    return failed("adapter_missing", f"{text}; make room there, or set TMPDIR to another folder")


def own_mark() -> str:
    """Who makes folders: `pid namespace-pid-start ticks` of this process; 0 for what is not to be known."""
    own = own_lease()
    return f"{own.pid_namespace or 0}-{own.pid}-{own.start_ticks}"


def make_folders(owner: tuple[int, int] | None) -> CallFolders:
    """Five empty folders that only `owner` (uid, gid; None: this process) may enter."""
    root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{own_mark()}-"))
    try:
        for name in _NAMES:
            (root / name).mkdir(mode=0o700)
        if owner is not None:
            for place in (root, *(root / name for name in _NAMES)):
                os.chown(place, *owner)
    except BaseException:
        with suppress(OSError):
            remove_tree(root)
        raise
    return CallFolders(root)


def remove_folders(folders: CallFolders) -> None:
    """Removes them with all that is in them. Slow when that is much: belongs into a thread."""
    try:
        remove_tree(folders.root)
    except OSError as error:
        _log.warning(
            "a call's folder could not be removed", command=f"rm -rf {folders.root}", error=error.strerror
        )


def _digest(folder: Path) -> str:
    lines, left_files, left_bytes = [], FILES, BYTES
    try:
        for where, folders, files in os.walk(folder, onerror=_raise):
            for name in (*folders, *files):
                path = Path(where) / name
                status = path.lstat()
                left_files -= 1
                kind, content = b"d", hashlib.sha256()
                if stat.S_ISREG(status.st_mode):
                    left_bytes -= status.st_size
                    if left_bytes < 0:
                        return "unread"
                    kind = b"f"
                    content.update(path.read_bytes())
                elif stat.S_ISLNK(status.st_mode):
                    kind = b"l"
                    content.update(os.fsencode(path.readlink()))
                elif not stat.S_ISDIR(status.st_mode):
                    kind = b"o"
                if left_files < 0:
                    return "unread"
                relative = os.fsencode(path.relative_to(folder))
                lines.append(b"\0".join((relative, kind, content.hexdigest().encode())) + b"\n")
    except OSError:
        return "unread"
    return "sha256:" + hashlib.sha256(b"".join(sorted(lines))).hexdigest()


def _raise(error: OSError) -> None:
    raise error
