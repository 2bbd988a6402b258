"""Digests of folders, as docs/architecture.md defines them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Optional, Tuple

    File = Tuple[bytes, bytes, Tuple[int, ...]]  # path, `x` or `-`, what changes when the content does


class Tree:
    """A folder of the host and its digest, which is taken anew only when a file's state has changed.

    `own`: it belongs to this user, who could change it and change it back. So any change of a state since the
    first digest counts then, of folders too: the kernel's times of change cannot be set.
    """

    def __init__(self, folder: str, own: bool = False) -> None:
        self._folder, self._digest, self._own = folder, "", own
        self._state: Optional[List[File]] = None
        self._places: List[Tuple[bytes, Tuple[int, ...]]] = []

    def digest(self) -> str:
        """`sha256:…`, `unreadable`, or `changed`."""
        try:
            places, self._places = self._places, []
            if self._own:
                self._note(os.fsencode(os.path.dirname(self._folder)))
                self._note(os.fsencode(self._folder))
            state = sorted(self._files(os.fsencode(self._folder), b""))
            self._places.sort()
            if self._own and self._state is not None and (state, self._places) != (self._state, places):
                return "changed"
            if state != self._state:
                self._digest, self._state = self._hash(state), state
        except (OSError, ValueError) as error:
            if self._own and getattr(error, "errno", None) not in _EXHAUSTED:
                return "changed"
            self._digest, self._state = "unreadable", None
        return self._digest

    def _note(self, folder: bytes) -> None:
        facts = os.lstat(folder)
        self._places.append((folder, (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_ctime_ns)))

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
                if stat.S_ISDIR(facts.st_mode):
                    if self._own:
                        self._note(entry.path)
                    yield from self._files(entry.path, prefix + entry.name + b"/")
                elif stat.S_ISREG(facts.st_mode):
                    mark = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
                    yield prefix + entry.name, b"x" if facts.st_mode & 0o111 else b"-", mark
                else:
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
