"""What a submission holds, as a digest: found to be the same, or not, when its job is taken up again."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from scorehost.aio.aside import still_wanted
from scorehost.submissions.intake import MAX_FILES, MAX_LEVELS
from scorehost.submissions.locating import located

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.spec.task import Artifact
    from scorehost.submissions.locating import Located
    from scorehost.submissions.sample import Sample

_CHUNK = 1024 * 1024
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def sample_digest(artifacts: Sequence[Artifact], sample: Sample) -> str:
    """`sha256:` over what lies at the declared paths of a sample: names, kinds, contents and execute bits.

    No link is followed. What taking it in would refuse (a link, too many files, too deep) is named and not
    read, so that this ends; it never raises for what it finds.
    """
    if sample.run:
        return "run"
    walk = _Walk()
    walk.note("refused", sample.refused)
    for name in sorted(sample.texts):
        walk.note("text", name, sample.texts[name])
    for name, file in sorted(sample.paths.items()):
        walk.note("path", name)
        walk.look(os.fspath(file), "", 0)
    if sample.folder is not None and not sample.refused:
        root = os.fspath(sample.folder)
        for artifact in sorted(artifacts, key=lambda one: one.path):
            walk.artifact(root, artifact.path, located(artifact, artifacts, root, sample.odd))
    return "sha256:" + walk.hasher.hexdigest()


def submission_digest(samples: Mapping[tuple[str, int], str]) -> str:
    """Over the digests of all samples, by task and number."""
    hasher = hashlib.sha256()
    for (task_id, number), digest in sorted(samples.items()):
        hasher.update(f"{task_id}\0{number}\0{digest}\n".encode())
    return "sha256:" + hasher.hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.hasher = hashlib.sha256()
        self.left = MAX_FILES

    def note(self, *words: str) -> None:
        for word in words:
            data = os.fsencode(word) if word.isascii() else word.encode("utf-8", "surrogatepass")
            self.hasher.update(len(data).to_bytes(8, "big") + data)

    def artifact(self, root: str, path: str, found: Located | None) -> None:
        """Notes what lies at an artifact's path, or at the place that is taken for it."""
        place = root
        for step in path.split("/")[:-1] if found is None or not found.note else ():
            place = f"{place}/{step}"
            if os.path.islink(place):  # noqa: PTH114 - plain calls: many files
                self.note("link", path, os.readlink(place))  # noqa: PTH115
                return
        if found is not None and found.note:
            self.note("elsewhere", path, *found.path)
            self.look("/".join((root, *found.path)), path, 0)
        else:
            self.look(f"{root}/{path}", path, 0)

    def look(self, place: str, name: str, level: int) -> None:
        """Notes what lies at `place`, which stands as `name` in the sample."""
        still_wanted()
        try:
            status = os.lstat(place)
            if stat.S_ISREG(status.st_mode):
                self.left -= 1
                self._file(place, name, status.st_mode)
            elif stat.S_ISDIR(status.st_mode):
                self._folder(place, name, level)
            elif stat.S_ISLNK(status.st_mode):
                self.note("link", name, os.readlink(place))  # noqa: PTH115 - as above
            else:
                self.note("other", name)
        except (FileNotFoundError, NotADirectoryError):
            self.note("absent", name)
        except OSError as error:
            self.note("unreadable", name, str(error.errno))

    def _file(self, place: str, name: str, mode: int) -> None:
        self.note("file", name, "x" if mode & stat.S_IXUSR else "")
        if self.left < 0:
            return
        content = hashlib.sha256()
        descriptor = os.open(place, _OPEN)
        try:
            while chunk := os.read(descriptor, _CHUNK):
                content.update(chunk)
                still_wanted()
        finally:
            os.close(descriptor)
        self.hasher.update(content.digest())

    def _folder(self, place: str, name: str, level: int) -> None:
        self.note("folder", name)
        if level > MAX_LEVELS:
            return
        for entry in sorted(os.listdir(place)):  # noqa: PTH208 - as above
            if self.left < 0:
                return
            self.look(f"{place}/{entry}", f"{name}/{entry}", level + 1)
