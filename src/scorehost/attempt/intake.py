"""Takes a submission in: checked, copied and hashed in one pass, so that what was hashed is what is scored.

No link is followed: every folder is opened by descriptor from the one above it, and every file is looked at
(`fstat`) after it was opened, so that nothing can be exchanged in between.
"""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scorehost.attempt.blobs import Blobs
from scorehost.attempt.order import Source
from scorehost.errors import AttemptFailed
from scorehost.hosts.tree import CHUNK, Entry, Tree, name_bytes
from scorehost.model.failure import Phase, failure
from scorehost.spec.task import Artifact, TaskSpec

MAX_FILES = 10_000
MAX_BYTES = 4 * 1024**3
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFREG: "a file",
}


@dataclass(frozen=True, slots=True)
class HandIn:
    """What was handed in, by artifact id. Paths in the trees are relative to the artifact's own path; a file
    artifact is one entry with the path "".
    """

    artifacts: dict[str, Tree]

    @property
    def digest(self) -> str:
        """`sha256:` over ids and trees."""
        digest = hashlib.sha256()
        for name in sorted(self.artifacts):
            digest.update(f"{name}\0{self.artifacts[name].digest}\n".encode())
        return "sha256:" + digest.hexdigest()


class _Refused(Exception):
    pass


@dataclass(slots=True)
class _Till:
    """Where contents go, and what may still come."""

    blobs: Blobs
    files: int = MAX_FILES
    size: int = MAX_BYTES

    def take(self, path: str, size: int) -> None:
        self.files -= 1
        self.size -= size
        if self.files < 0:
            raise _Refused(f"more than {MAX_FILES} files")
        if self.size < 0:
            raise _Refused(f"more than {MAX_BYTES // 1024**3} GiB in all, reached at {_shown(path)}")


def take_in(spec: TaskSpec, source: Source, blobs: Blobs) -> HandIn:
    """Copies every declared artifact that is there into `blobs`.

    Raises AttemptFailed (invalid_submission) that names the path and what it is; DiskFull.
    """
    till = _Till(blobs)
    taken: dict[str, Tree] = {}
    try:
        if source.refused:
            raise _Refused(source.refused)
        for artifact in spec.artifacts:
            tree = _from_text(artifact, source, till)
            if tree is None and source.folder is not None:
                tree = _from_folder(artifact, source.folder, till)
            if tree is not None:
                taken[artifact.id] = tree
    except _Refused as error:
        raise AttemptFailed(failure(Phase.PREPARE, "invalid_submission", str(error))) from None
    return HandIn(taken)


def _from_text(artifact: Artifact, source: Source, till: _Till) -> Tree | None:
    text = source.texts.get(artifact.id)
    if text is None:
        return None
    if artifact.kind != "file":
        raise _Refused(f"the artifact {artifact.id} is a tree: a text cannot be one")
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused(f"the text of artifact {artifact.id} is not valid Unicode") from None
    if len(data) > artifact.max_bytes:
        raise _Refused(f"{artifact.path} has {len(data)} bytes, more than {artifact.max_bytes}")
    till.take(artifact.path, len(data))
    digest, path = till.blobs.put(iter([data]), executable=False)
    return Tree((Entry("", path, digest, len(data)),))


def _from_folder(artifact: Artifact, root: Path, till: _Till) -> Tree | None:
    *parents, last = artifact.path.split("/")
    with _opened(os.fspath(root), None, "the submission's folder") as top:
        folder = top
        closing: list[int] = []
        try:
            for parent in parents:
                found = _open_at(parent, folder, artifact.path)
                if found is None:
                    return None
                closing.append(found)
                _expect(found, stat.S_IFDIR, f"{parent} (in {artifact.path})", "a folder")
                folder = found
            found = _open_at(last, folder, artifact.path)
            if found is None:
                return None
            closing.append(found)
            if artifact.kind == "file":
                entry = _copied(found, "", artifact.path, artifact.max_bytes, till)
                return Tree((entry,))
            _expect(found, stat.S_IFDIR, artifact.path, "a folder, as a tree artifact must be")
            return _tree(found, artifact, till)
        finally:
            for descriptor in closing:
                os.close(descriptor)


def _tree(top: int, artifact: Artifact, till: _Till) -> Tree:
    entries: list[Entry] = []
    folders: list[str] = []
    left = artifact.max_bytes

    def walk(folder: int, prefix: str) -> None:
        nonlocal left
        for name in sorted(os.listdir(folder), key=name_bytes):
            path = prefix + name
            if any(
                fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(name, glob)
                for glob in artifact.exclude
            ):
                continue
            shown = f"{artifact.path}/{path}"
            descriptor = _open_at(name, folder, shown)
            if descriptor is None:
                continue
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    till.take(shown, 0)
                    folders.append(path)
                    walk(descriptor, path + "/")
                else:
                    entry = _copied(descriptor, path, shown, left, till)
                    left -= entry.size
                    entries.append(entry)
            finally:
                os.close(descriptor)

    try:
        walk(top, "")
    except RecursionError:
        raise _Refused(f"{artifact.path} nests its folders too deep") from None
    return Tree(tuple(entries), tuple(folders))


def _copied(descriptor: int, path: str, shown: str, limit: int, till: _Till) -> Entry:
    status = os.fstat(descriptor)
    _expect(descriptor, stat.S_IFREG, shown, "a file")
    if status.st_size > limit:
        raise _Refused(
            f"{_shown(shown)} has {status.st_size} bytes, more than the {limit} that are left for it"
        )
    till.take(shown, status.st_size)
    executable = bool(status.st_mode & 0o100)
    seen = 0

    def pieces() -> Iterator[bytes]:
        nonlocal seen
        while data := os.read(descriptor, CHUNK):
            seen += len(data)
            if seen > limit:
                raise _Refused(f"{_shown(shown)} grew while it was copied, past {limit} bytes")
            yield data

    digest, blob = till.blobs.put(pieces(), executable=executable)
    return Entry(path, blob, digest, seen, executable)


def _open_at(name: str, folder: int, shown: str) -> int | None:
    try:
        return os.open(name, _OPEN, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        try:
            kind = _kind(os.lstat(name, dir_fd=folder).st_mode)
        except OSError:
            kind = "not there any more"
        if error.errno == errno.EACCES:
            raise _Refused(f"{_shown(shown)} is {kind} that cannot be read: permission denied") from None
        raise _Refused(f"{_shown(shown)} is {kind}; only regular files and folders are taken") from None


@contextmanager
def _opened(path: str, folder: int | None, shown: str) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise _Refused(f"{shown} cannot be opened: {os.strerror(error.errno or 0)}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _expect(descriptor: int, kind: int, shown: str, wanted: str) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_IFMT(mode) != kind:
        raise _Refused(f"{_shown(shown)} is {_kind(mode)}, not {wanted}")


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something unknown")


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace("\n", "\\n")
