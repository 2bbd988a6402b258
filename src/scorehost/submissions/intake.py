"""Takes a submission in: checked, copied and hashed in one pass, so that what was hashed is what is scored.

No link is followed (`opening`). What changes while it is copied is copied again, and is not its fault.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scorehost.errors import AttemptFailed, Interrupted
from scorehost.files.names import on_one_line
from scorehost.files.placeholders import HEAD_BYTES, placeholder
from scorehost.files.tree import Entry, Tree, name_bytes
from scorehost.model.failure import Phase, failure
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import MAX_SUBMISSION_BYTES, Artifact, TaskSpec
from scorehost.submissions.locating import located, similar
from scorehost.submissions.odd import Odd
from scorehost.submissions.opening import (
    Changed,
    Refused,
    Still,
    expect,
    names_in,
    open_at,
    opened_folder,
    read_at,
)
from scorehost.submissions.sample import Sample
from scorehost.submissions.spellings import excluded, has_raw_bytes, is_decomposed

MAX_FILES = 10_000
MAX_BYTES = MAX_SUBMISSION_BYTES
MAX_LEVELS = 64  # of folders in a tree: each costs an open descriptor while it is walked
MAX_PATH_BYTES = 2048  # leaves the system's 4,096 room for where the attempt's folder lies
COPIES = 3  # of what changes while it is copied, before that is told
_SHOWN = 3  # of several files with one thing to say


@dataclass(frozen=True, slots=True)
class Taken:
    """A sample that was taken in: its artifacts by id. Paths in the trees are relative to the artifact's own
    path; a file artifact is one entry with the path "". `warnings`: what was taken for a declared path that
    is not there, what is only similar to one, and what is not what it seems to be.
    """

    artifacts: dict[str, Tree]
    warnings: tuple[str, ...] = ()

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
            raise Refused(f"more than {MAX_FILES} files")
        self.grow(path, size)
        self.blobs.expect(size)

    def check(self) -> None:
        if self.stopped():
            raise Interrupted("nobody waits for this submission any more")

    def grow(self, path: str, size: int) -> None:
        self.size -= size
        if self.size < 0:
            raise Refused(f"more than {MAX_BYTES // 1024**3} GiB in all, reached at {on_one_line(path)}")


def take_in(
    spec: TaskSpec, source: Sample, blobs: Blobs, stopped: Callable[[], bool] = lambda: False
) -> Taken:
    """Copies every declared artifact that is there into `blobs`. Blocks: belongs into a thread.

    Raises AttemptFailed (invalid_submission, which names the path and what it is; changed_input for what does
    not stay the same); DiskFull; Interrupted soon after `stopped` gives True, with nothing half copied left.
    """
    if source.refused:
        raise AttemptFailed(failure(Phase.PREPARE, "invalid_submission", source.refused))
    till = _Till(blobs, stopped)
    taken: dict[str, Tree] = {}
    said: list[str] = []
    where = f"{source.shown}: " if source.shown else ""
    try:
        for artifact in spec.artifacts:
            one = _Taking(artifact, till)
            tree = one.text(source.texts.get(artifact.id))
            if tree is None and artifact.id in source.paths:
                tree = one.copied(source.paths[artifact.id])
            if tree is None and source.folder is not None:
                tree = one.found(source, source.folder, spec.artifacts)
            if tree is not None:
                taken[artifact.id] = tree
            said += one.told()
    except Refused as error:
        raise AttemptFailed(failure(Phase.PREPARE, "invalid_submission", f"{where}{error}")) from None
    except Changed as error:
        text = f"{where}{error}; it was copied {COPIES} times, and never stayed the same"
        hint = "Score it again when nothing writes into the submission."
        raise AttemptFailed(failure(Phase.PREPARE, "changed_input", text, hint=hint)) from None
    return Taken(taken, tuple(f"{where}{text}" for text in said))


class Nowhere(Blobs):
    """Takes every content and keeps none: for a look at what would be refused, which reads no file."""

    def __init__(self) -> None:
        super().__init__(Path(os.devnull))

    def expect(self, size: int) -> None:
        """There is always room."""

    def put(self, pieces: Iterator[bytes], *, executable: bool, link: Path | None = None) -> tuple[str, Path]:  # noqa: ARG002
        """Reads nothing."""
        return "", self.folder


@dataclass(slots=True)
class _Taking:
    """One artifact on its way in, and what is to be said of it."""

    artifact: Artifact
    till: _Till
    said: list[str] = field(default_factory=list)
    stand_ins: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    decomposed: list[str] = field(default_factory=list)

    def text(self, text: str | None) -> Tree | None:
        artifact, till = self.artifact, self.till
        if text is None:
            return None
        if artifact.kind != "file":
            raise Refused(f"the artifact {artifact.id} is a tree: a text cannot be one")
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:
            raise Refused(f"the text of artifact {artifact.id} is not valid Unicode") from None
        if len(data) > artifact.max_bytes:
            raise Refused(f"{artifact.path} has {len(data)} bytes, more than {artifact.max_bytes}")
        till.take(artifact.path, len(data))
        digest, path = till.blobs.put(iter([data]), executable=False)
        return Tree((Entry("", path, digest, len(data)),))

    def copied(self, file: Path) -> Tree | None:
        """The artifact is this file, whatever it is called."""

        def once() -> Tree:
            with opened_folder(os.fspath(file.parent), "the folder of the submission") as folder:
                found = open_at(file.name, folder, file.name, Odd())
                if found is None:
                    raise Refused(f"{on_one_line(file.name)} is not there any more")
                try:
                    return Tree((self._file(found, "", file.name, self.artifact.max_bytes),))
                finally:
                    os.close(found)

        return self._still(once)

    def found(self, source: Sample, root: Path, artifacts: tuple[Artifact, ...]) -> Tree | None:
        """The artifact where it lies below a sample's folder; None when it is not there."""
        if source.exact:
            path = tuple(self.artifact.place.split("/"))
            return self._still(lambda: self._below(root, path, source.odd))
        place = located(self.artifact, artifacts, os.fspath(root), source.odd)
        if place is None:
            if near := similar(self.artifact, os.fspath(root), source.odd):
                what = f"{near} {why}" if (why := placeholder(near, b"", 0)) else f"is {near} meant to be it?"
                self.said.append(f"{self.artifact.path} was not handed in; {what}")
            with opened_folder(os.fspath(root), "the submission's folder"):
                return None
        if place.note:
            self.said.append(place.note)
        return self._still(lambda: self._below(root, place.path, source.odd))

    def told(self) -> list[str]:
        """What is to be said."""
        where = f"in {self.artifact.path}"
        texts = {
            "are not UTF-8 and are taken byte for byte; text in UTF-8 does not match them": self.raw,
            "are in decomposed Unicode, as macOS writes it; composed text does not match them": (
                self.decomposed
            ),
        }
        listed = [
            f"{len(names)} of the names {where} {text}: {_some(names)}"
            for text, names in texts.items()
            if names
        ]
        more = len(self.stand_ins) - _SHOWN
        stand_ins = [*self.stand_ins[:_SHOWN], *([f"{more} more files {where} are like that"] * (more > 0))]
        return self.said + stand_ins + listed

    def _still(self, copy: Callable[[], Tree | None]) -> Tree | None:
        files, size = self.till.files, self.till.size
        for count in range(1, COPIES + 1):
            try:
                return copy()
            except Changed as changed:
                if count == COPIES or changed.final:
                    raise
                self.till.files, self.till.size = files, size
                self.stand_ins.clear()
                self.raw.clear()
                self.decomposed.clear()
        raise AssertionError("the last copy returns or raises")

    def _below(self, root: Path, path: tuple[str, ...], odd: Odd) -> Tree | None:
        artifact, shown = self.artifact, "/".join(path)
        with opened_folder(os.fspath(root), "the submission's folder") as top:
            folder, node = top, odd
            closing: list[int] = []
            try:
                for count, step in enumerate(path, start=1):
                    node = node.at(step)
                    found = open_at(step, folder, shown, node)
                    if found is None:
                        return None
                    closing.append(found)
                    if count < len(path):
                        expect(found, stat.S_IFDIR, f"{step} (in {shown})", "a folder")
                    folder = found
                if artifact.kind == "file":
                    return Tree((self._file(folder, "", shown, artifact.max_bytes),))
                expect(folder, stat.S_IFDIR, shown, "a folder, as a tree artifact must be")
                return self._tree(folder, shown, node)
            finally:
                for descriptor in closing:
                    os.close(descriptor)

    def _tree(self, top: int, called: str, odd: Odd) -> Tree:
        entries: list[Entry] = []
        folders: list[str] = []
        left = self.artifact.max_bytes

        def walk(folder: int, prefix: str, level: int, here: Odd) -> None:
            nonlocal left
            still = Still.of(folder)
            for name in self._names(folder, prefix, here):
                path = prefix + name
                shown = f"{called}/{path}"
                if len(name_bytes(shown)) > MAX_PATH_BYTES:
                    raise Refused(
                        f"{called} holds a path of more than {MAX_PATH_BYTES} bytes, "
                        f"which begins with {on_one_line(path[:60])}"
                    )
                descriptor = open_at(name, folder, shown, here.at(name))
                if descriptor is None:
                    continue
                try:
                    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                        if level == MAX_LEVELS:
                            raise Refused(
                                f"{called} nests its folders deeper than {MAX_LEVELS} levels, "
                                f"below {on_one_line(path[:60])}"
                            )
                        self.till.take(shown, 0)
                        folders.append(path)
                        walk(descriptor, path + "/", level + 1, here.at(name))
                    else:
                        entry = self._file(descriptor, path, shown, left)
                        left -= entry.size
                        entries.append(entry)
                finally:
                    os.close(descriptor)
            still.check(f"{called}/{prefix}".rstrip("/"))

        walk(top, "", 1, odd)
        return Tree(tuple(entries), tuple(folders))

    def _names(self, folder: int, prefix: str, odd: Odd) -> list[str]:
        names: list[str] = []
        for name in names_in(folder, odd):
            if excluded(prefix + name, name, self.artifact.exclude):
                continue
            names.append(name)
            if len(names) > self.till.files:  # before a folder of millions is read to its end
                raise Refused(f"more than {MAX_FILES} files")
            if has_raw_bytes(name):
                self.raw.append(prefix + name)
            elif is_decomposed(name):
                self.decomposed.append(prefix + name)
        return sorted(names, key=name_bytes)

    def _file(self, descriptor: int, path: str, shown: str, limit: int) -> Entry:
        expect(descriptor, stat.S_IFREG, shown, "a file")
        still = Still.of(descriptor)
        status = os.fstat(descriptor)
        if status.st_size > limit:
            raise Refused(
                f"{on_one_line(shown)} has {status.st_size} bytes, more than the {limit} that are left for it"
            )
        till = self.till
        till.take(shown, status.st_size)
        executable = bool(status.st_mode & 0o100)
        seen = 0

        def pieces() -> Iterator[bytes]:
            nonlocal seen
            while data := read_at(descriptor, shown):
                till.check()
                if not seen and (why := placeholder(shown, data[:HEAD_BYTES], status.st_size)):
                    self.stand_ins.append(f"{on_one_line(shown)} {why}")
                seen += len(data)
                if seen > limit:
                    text = f"{on_one_line(shown)} grew while it was copied, past {limit} bytes"
                    raise Changed(text, final=True)
                if seen > status.st_size:
                    till.grow(shown, min(len(data), seen - status.st_size))
                yield data
            still.check(shown)

        digest, blob = till.blobs.put(pieces(), executable=executable)
        return Entry(path, blob, digest, seen, executable)


def _some(names: list[str]) -> str:
    return ", ".join(map(on_one_line, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
