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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scorehost.errors import AttemptFailed, Interrupted
from scorehost.files.below import kind_of
from scorehost.files.names import on_one_line
from scorehost.files.tree import CHUNK, Entry, Tree, name_bytes
from scorehost.model.failure import Phase, failure
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.sample import Sample

MAX_FILES = 10_000
MAX_BYTES = 4 * 1024**3
MAX_LEVELS = 64  # of folders in a tree: each costs an open descriptor while it is walked
MAX_PATH_BYTES = 2048  # leaves the system's 4,096 room for where the attempt's folder lies
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DENIED = (errno.EACCES, errno.EPERM)
# What opening says of links, of sockets and devices without a driver, and of what may not be read.
_ITS_OWN = (*_DENIED, errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP)


@dataclass(frozen=True, slots=True)
class Taken:
    """A sample that was taken in: its artifacts by id. Paths in the trees are relative to the artifact's own
    path; a file artifact is one entry with the path "".
    """

    artifacts: dict[str, Tree]

    @property
    def digest(self) -> str:
        """`sha256:` over ids, trees and names of folders."""
        digest = hashlib.sha256()
        for name in sorted(self.artifacts):
            tree = self.artifacts[name]
            digest.update(f"{name}\0{tree.digest}\n".encode())
            for folder in sorted(map(name_bytes, tree.folders)):  # an evaluator sees empty ones too
                digest.update(folder + b"/\n")
        return "sha256:" + digest.hexdigest()


class _Refused(Exception):
    pass


@dataclass(slots=True)
class _Till:
    """Where contents go, and what may still come."""

    blobs: Blobs
    stopped: Callable[[], bool]
    files: int = MAX_FILES
    size: int = MAX_BYTES

    def take(self, path: str, size: int) -> None:
        self.check()
        self.files -= 1
        if self.files < 0:
            raise _Refused(f"more than {MAX_FILES} files")
        self.grow(path, size)
        self.blobs.expect(size)

    def check(self) -> None:
        if self.stopped():
            raise Interrupted("nobody waits for this submission any more")

    def grow(self, path: str, size: int) -> None:
        self.size -= size
        if self.size < 0:
            raise _Refused(f"more than {MAX_BYTES // 1024**3} GiB in all, reached at {on_one_line(path)}")


def take_in(
    spec: TaskSpec, source: Sample, blobs: Blobs, stopped: Callable[[], bool] = lambda: False
) -> Taken:
    """Copies every declared artifact that is there into `blobs`. Blocks: belongs into a thread.

    Raises AttemptFailed (invalid_submission) that names the path and what it is; DiskFull; Interrupted soon
    after `stopped` gives True, with nothing half copied left.
    """
    if source.refused:
        raise AttemptFailed(failure(Phase.PREPARE, "invalid_submission", source.refused))
    till = _Till(blobs, stopped)
    taken: dict[str, Tree] = {}
    try:
        for artifact in spec.artifacts:
            tree = _from_text(artifact, source, till)
            if tree is None and source.folder is not None:
                tree = _from_folder(artifact, source.folder, till)
            if tree is not None:
                taken[artifact.id] = tree
    except _Refused as error:
        raise AttemptFailed(failure(Phase.PREPARE, "invalid_submission", str(error))) from None
    return Taken(taken)


def _from_text(artifact: Artifact, source: Sample, till: _Till) -> Tree | None:
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

    def walk(folder: int, prefix: str, level: int) -> None:
        nonlocal left
        for name in _names(folder, prefix, artifact, till.files):
            path = prefix + name
            shown = f"{artifact.path}/{path}"
            if len(name_bytes(shown)) > MAX_PATH_BYTES:
                raise _Refused(
                    f"{artifact.path} holds a path of more than {MAX_PATH_BYTES} bytes, "
                    f"which begins with {on_one_line(path[:60])}"
                )
            descriptor = _open_at(name, folder, shown)
            if descriptor is None:
                continue
            try:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    if level == MAX_LEVELS:
                        raise _Refused(
                            f"{artifact.path} nests its folders deeper than {MAX_LEVELS} levels, "
                            f"below {on_one_line(path[:60])}"
                        )
                    till.take(shown, 0)
                    folders.append(path)
                    walk(descriptor, path + "/", level + 1)
                else:
                    entry = _copied(descriptor, path, shown, left, till)
                    left -= entry.size
                    entries.append(entry)
            finally:
                os.close(descriptor)

    walk(top, "", 1)
    return Tree(tuple(entries), tuple(folders))


def _names(folder: int, prefix: str, artifact: Artifact, most: int) -> list[str]:
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            if any(
                fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(entry.name, glob)
                for glob in artifact.exclude
            ):
                continue
            names.append(entry.name)
            if len(names) > most:  # before a folder of millions is read to its end
                raise _Refused(f"more than {MAX_FILES} files")
    return sorted(names, key=name_bytes)


def _copied(descriptor: int, path: str, shown: str, limit: int, till: _Till) -> Entry:
    status = os.fstat(descriptor)
    _expect(descriptor, stat.S_IFREG, shown, "a file")
    if status.st_size > limit:
        raise _Refused(
            f"{on_one_line(shown)} has {status.st_size} bytes, more than the {limit} that are left for it"
        )
    till.take(shown, status.st_size)
    executable = bool(status.st_mode & 0o100)
    seen = 0

    def pieces() -> Iterator[bytes]:
        nonlocal seen
        while data := _read(descriptor, shown):
            till.check()
            seen += len(data)
            if seen > limit:
                raise _Refused(f"{on_one_line(shown)} grew while it was copied, past {limit} bytes")
            if seen > status.st_size:
                till.grow(shown, min(len(data), seen - status.st_size))
            yield data

    digest, blob = till.blobs.put(pieces(), executable=executable)
    return Entry(path, blob, digest, seen, executable)


def _open_at(name: str, folder: int, shown: str) -> int | None:
    try:
        return os.open(name, _OPEN, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _ITS_OWN:  # too many open files, say: no fault of what is opened
            raise
        try:
            kind = kind_of(os.lstat(name, dir_fd=folder).st_mode)
        except OSError:
            kind = "something unknown"
        if error.errno in _DENIED:
            raise _Refused(f"{on_one_line(shown)} is {kind} that cannot be read: permission denied") from None
        raise _Refused(f"{on_one_line(shown)} is {kind}; only regular files and folders are taken") from None


def _read(descriptor: int, shown: str) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError as error:
        text = os.strerror(error.errno or 0)
        raise _Refused(f"{on_one_line(shown)} is a file that cannot be read: {text}") from None


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
        raise _Refused(f"{on_one_line(shown)} is {kind_of(mode)}, not {wanted}")
