"""Digests of folders, as docs/architecture.md defines them."""

from __future__ import annotations

import hashlib
import os
import stat

from scorehost_sdk.feed import FULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Optional, Tuple

    Facts = Tuple[int, ...]  # of a path: what changes when the content does, or the access to it
    File = Tuple[bytes, bytes, Facts]  # path, `x` or `-`, facts


# Ours, to gold from beside evaluator.py and to data from beside run.py; no part of a digest.
_LINKS = ((b"evaluation", b"../evaluation"), (b"data", b"../.scorehost/workspace"))


class Tree:
    """A folder of the host and its digest, which is taken anew only when a file's state has changed.

    `own`: it belongs to this user, who could change it and change it back. So any change of a state since the
    first digest counts then, of folders too: the kernel's times of change cannot be set. That second look
    opens nothing: a process of this user could have taken away the right to open files (prlimit).
    """

    def __init__(self, folder: str, own: bool = False) -> None:
        self._folder, self._digest, self._own = folder, "", own
        self._state: Optional[List[File]] = None
        self._seen: Dict[bytes, Facts] = {}

    def digest(self) -> str:
        """`sha256:…`, `unreadable`, or `changed`."""
        if self._own and self._state is not None:
            return self._digest if self._as_seen() else "changed"
        try:
            if self._own:
                self._note_what_is_around()
            state = sorted(self._files(os.fsencode(self._folder), b""))
            if state != self._state:
                self._digest, self._state = self._hash(state), state
        except (OSError, ValueError):
            self._digest, self._state = "unreadable", None
        return self._digest

    def _note_what_is_around(self) -> None:
        root = os.path.dirname(self._folder)
        for place in (root, os.path.join(root, FULL), self._folder):
            if os.path.lexists(place):
                self._seen[os.fsencode(place)] = _facts(os.lstat(place))

    def _as_seen(self) -> bool:
        try:
            return all(_facts(os.lstat(path)) == facts for path, facts in self._seen.items())
        except OSError:
            return False

    def _files(self, folder: bytes, prefix: bytes) -> Iterator[File]:
        try:
            entries = os.scandir(folder)
        except FileNotFoundError:
            if prefix:
                raise
            return
        with entries:
            for entry in entries:
                facts = entry.stat(follow_symlinks=False)
                if self._own:
                    self._seen[entry.path] = _facts(facts)
                if stat.S_ISDIR(facts.st_mode):
                    yield from self._files(entry.path, prefix + entry.name + b"/")
                elif stat.S_ISREG(facts.st_mode):
                    yield prefix + entry.name, b"x" if facts.st_mode & 0o111 else b"-", _facts(facts)
                elif (prefix + entry.name, os.readlink(entry.path)) not in _LINKS:
                    raise ValueError("neither a file nor a folder")

    def _hash(self, files: List[File]) -> str:
        whole, buffer = hashlib.sha256(), memoryview(bytearray(1 << 18))
        for path, mode, _ in files:
            digest = hashlib.sha256()
            with open(os.path.join(os.fsencode(self._folder), path), "rb", buffering=0) as file:
                while True:
                    size = file.readinto(buffer)
                    if not size:
                        break
                    digest.update(buffer[:size])
            whole.update(b"%s\0%s\0%s\n" % (path, mode, digest.hexdigest().encode("ascii")))
        return "sha256:" + whole.hexdigest()


def _facts(status: os.stat_result) -> Facts:
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
