"""What a run phase hands over, written to a folder of ours; names and sizes are checked as they come."""

from __future__ import annotations

import os
from pathlib import Path

from scorehost.files.atomic import disk_errors, make_folder, write_all
from scorehost.files.names import on_one_line
from scorehost.files.removal import remove_tree
from scorehost.hosts.messages import Publish
from scorehost.hosts.sessions import Refused
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import MAX_BYTES, MAX_FILES, MAX_LEVELS, MAX_PATH_BYTES

_STEP_BYTES = 255
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Shelf:
    """Artifacts below `folder/done` at their places; one appears there when all of it has come.

    Every frame is hostile: only regular files and folders are ever made, and only below `folder`.
    """

    def __init__(self, spec: TaskSpec, folder: Path) -> None:
        self._artifacts = {artifact.id: artifact for artifact in spec.artifacts}
        self._folder = folder
        self.done = folder / "done"
        self._sizes: dict[str, tuple[int, int]] = {}  # files and bytes of what is done, by artifact
        self._coming: _Coming | None = None

    def take(self, part: Publish) -> None:
        """Takes one part. Raises Refused, after which that artifact has to be begun again; DiskFull."""
        try:
            self._take(part)
        except Refused:
            self._drop()
            raise

    def _take(self, part: Publish) -> None:
        if part.artifact not in self._artifacts:
            known = ", ".join(self._artifacts) or "none"
            raise _refused(f"{part.artifact[:80]!r} is no artifact of this task; it declares {known}")
        if part.step == "begin":
            self._drop()
            make_folder(self.done)
            others = [size for name, size in self._sizes.items() if name != part.artifact]
            files, size = sum(each[0] for each in others), sum(each[1] for each in others)
            place = self._folder / "coming"
            self._coming = _Coming(self._artifacts[part.artifact], place, MAX_FILES - files, MAX_BYTES - size)
            return
        coming = self._coming
        if coming is None or coming.artifact.id != part.artifact:
            raise _refused(f"{part.artifact} is not being published; begin it first")
        if part.step != "end":
            with disk_errors(self._folder, len(part.data)):
                coming.take(part)
            return
        self._sizes[part.artifact] = coming.finish(self.done)
        self._coming = None

    def _drop(self) -> None:
        if self._coming is not None:
            self._coming.close()
            self._coming = None


class _Coming:
    """An artifact of which parts have come."""

    def __init__(self, artifact: Artifact, place: Path, files: int, size: int) -> None:
        self.artifact = artifact
        self._place = place
        self._files_left, self._size_left = files, min(size, artifact.max_bytes)
        self._files = self._size = 0
        self._writing: tuple[bytes, int] | None = None
        _clear(place)

    def take(self, part: Publish) -> None:
        if self._writing is not None and (part.step != "file" or part.path != self._writing[0]):
            raise _refused("another part while a file is not whole")
        if self._writing is None:
            path = os.fsdecode(self._checked(part.step, part.path))
            self._count(path)
            self._open(part, path)
        if part.step == "file":
            self._write(part)

    def _checked(self, step: str, path: bytes) -> bytes:
        if not path and self.artifact.kind == "file" and step == "file":
            return b""
        if self.artifact.kind == "file":
            raise _refused(f"{self.artifact.id} is one file, and a folder was published")
        if not path:
            raise _refused(f"{self.artifact.id} is a folder, and a file was published")
        steps = path.split(b"/")
        if b"\0" in path or any(step in (b"", b".", b"..") or len(step) > _STEP_BYTES for step in steps):
            raise _refused(f"{self.artifact.id} holds a path that no file can have")
        if len(steps) > MAX_LEVELS or len(self.artifact.path) + 1 + len(path) > MAX_PATH_BYTES:
            raise _refused(f"{self.artifact.id} holds a path that is too long or too deep")
        return path

    def _count(self, path: str) -> None:
        self._files += 1
        if self._files > self._files_left:
            raise _refused(f"more than {MAX_FILES} files, reached at {on_one_line(path)}")

    def _open(self, part: Publish, path: str) -> None:
        target = self._place / path if path else self._place
        try:
            if part.step == "folder":
                target.mkdir(mode=0o700, parents=True)
                return
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = 0o700 if part.executable else 0o600
            self._writing = (part.path, os.open(target, _NEW, mode))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise _refused(f"{on_one_line(path)} of {self.artifact.id} was published twice") from None

    def _write(self, part: Publish) -> None:
        if self._writing is None:
            return
        self._size += len(part.data)
        if self._size > self._size_left:
            text = f"{self.artifact.id} has more than the {self._size_left} bytes that are left for it"
            raise _refused(text)
        write_all(self._writing[1], part.data)
        if not part.more:
            os.close(self._writing[1])
            self._writing = None

    def finish(self, done: Path) -> tuple[int, int]:
        """Moves what has come to its place; gives its files and bytes."""
        if self._writing is not None:
            raise _refused("a file is not whole")
        if self.artifact.kind == "tree":
            make_folder(self._place)
        elif not self._place.is_file():
            raise _refused(f"nothing of {self.artifact.id} has come")
        target = done / self.artifact.place
        make_folder(target.parent)
        _clear(target)
        self._place.rename(target)
        return self._files, self._size

    def close(self) -> None:
        """Drops it."""
        if self._writing is not None:
            os.close(self._writing[1])
            self._writing = None
        _clear(self._place)


def _clear(place: Path) -> None:
    if place.is_dir():
        remove_tree(place)
    else:
        place.unlink(missing_ok=True)


def _refused(text: str) -> Refused:
    return Refused("ScoringError", f"not published: {text}")
