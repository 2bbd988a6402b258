"""The folder of an attempt: drafted aside, written through to disk, and shown whole by one rename."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scorehost.errors import Interrupted
from scorehost.files.atomic import disk_errors, make_folder, sync_folder, write_all
from scorehost.files.names import escaped
from scorehost.model import json
from scorehost.model.check import MAX_BYTES, CheckRow
from scorehost.model.masking import Masker
from scorehost.model.result import Result, result_bytes
from scorehost.runs.manifest import (
    MANIFEST_FILE,
    SALTS_FILE,
    Manifest,
    ManifestFile,
    fresh_salts,
    listed_digest,
    manifest_bytes,
)
from scorehost.runs.privacy import CHECKS_FILE, RESULT_FILE, is_private
from scorehost.spec.own_secrets import own_masker
from scorehost.spec.task import TaskSpec
from scorehost.submissions.intake import HandIn

# A content that is linked too often already (65,000 times on ext4), or a file system without links.
_NO_LINK = (errno.EMLINK, errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS)

MANY = 64  # files from which on one sync of the system is quicker than one of each


class Draft:
    """An attempt's folder before it is shown. Every file is hashed when it is written; `settle` makes all of
    it durable, and `publish` does that and shows it.
    """

    def __init__(self, folder: Path, target: Path, masker: Callable[[], Masker] = own_masker) -> None:
        self._folder = folder
        self._target = target
        self._masker = masker
        self._files: dict[str, tuple[int, str]] = {}  # size and hex sha256 by path
        self._unsettled: list[str] = []
        self._top = os.fspath(folder)
        self._made = {self._top}  # the folders of the draft
        self._turn = threading.Lock()
        self._dropped = False
        self.published = False

    @property
    def staging(self) -> Path:
        """A place on the same disk for what is not yet a part of it; whoever uses it removes it again."""
        return self._folder / ".staging"

    def write(self, path: str, data: bytes) -> None:
        """Writes one file. Raises DiskFull."""
        target = self._place(path)
        with disk_errors(self._folder, len(data)):
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
        self._unsettled.append(target)
        self._note(path, len(data), hashlib.sha256(data).hexdigest())

    def _place(self, path: str) -> str:
        """Where a file of the draft goes; its folders are there then."""
        target = f"{self._top}/{path}"
        self._make(target.rpartition("/")[0])
        return target

    def _make(self, folder: str) -> None:
        if folder not in self._made:
            self._make(folder.rpartition("/")[0])
            with disk_errors(self._folder, 4096), suppress(FileExistsError):
                os.mkdir(folder, 0o700)  # noqa: PTH102 - plain calls: these are most of what an attempt costs
            self._made.add(folder)

    def write_json(self, path: str, value: Any) -> None:
        """Writes a value as JSON."""
        self.write(path, json.dump(value))

    def link_submission(self, spec: TaskSpec, hand_in: HandIn) -> None:
        """Links what was scored below the artifacts' declared paths.

        In a thread it ends with Interrupted soon after the draft was dropped, and makes nothing any more.
        """
        for artifact in spec.artifacts:
            tree = hand_in.artifacts.get(artifact.id)
            if tree is None:
                continue
            for folder in tree.folders:
                with self._wanted():
                    self._make(f"{self._top}/{artifact.path}/{folder}")
            for entry in tree.entries:
                path = f"{artifact.path}/{entry.path}" if entry.path else artifact.path
                with self._wanted(), disk_errors(self._folder, entry.size):
                    target = self._place(path)
                    descriptor = _linked_or_opened(entry.source, target)
                if descriptor is not None:  # a copy may take long: who drops the draft must not wait for it
                    with disk_errors(self._folder, entry.size):
                        _copy(entry.source, descriptor)
                self._unsettled.append(target)
                self._note(path, entry.size, entry.sha256)

    @contextmanager
    def _wanted(self) -> Iterator[None]:
        """Work of a thread on a draft that nobody drops meanwhile. Raises Interrupted once it was dropped."""
        with self._turn:
            if self._dropped:
                raise Interrupted("nobody waits for this attempt any more")
            yield

    def close(self, result: Result, checks: tuple[CheckRow, ...]) -> None:
        """Writes checks, result, the salts of what is private and, last, the manifest of all files."""
        rows = [check.model_dump(mode="json", exclude_none=True) for check in checks]
        masked = self._masker().tree(rows)
        self.write_json(CHECKS_FILE, {"format": "scorehost.checks/1", "checks": masked})
        self.write(RESULT_FILE, result_bytes(result))
        salts: dict[str, str] = {}
        if private := [path for path in self._files if is_private(path, checks)]:
            held = fresh_salts([*private, SALTS_FILE])
            self.write_json(SALTS_FILE, held.model_dump(mode="json"))
            salts = held.salts
        manifest = Manifest(
            kind=result.kind,
            job_id=result.job_id,
            task_id=result.task_id,
            submission=result.submission,
            sample=result.sample,
            repeat=result.repeat,
            try_number=result.try_number,
            files=tuple(
                ManifestFile(path=path, size=size, digest=listed_digest(sha256, salts.get(path)))
                for path, (size, sha256) in sorted(self._files.items())
            ),
        )
        self.write(MANIFEST_FILE, manifest_bytes(manifest))

    def settle(self) -> None:
        """Waits until the disk has every file and folder. Slow: belongs into a thread. Raises DiskFull."""
        with disk_errors(self._folder, 4096):
            if len(self._unsettled) > MANY:
                os.sync()  # waits for everybody's files, and is still 50 times faster than one by one
                return
            for path in (*self._unsettled, *self._made):
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def publish(self) -> None:
        """Settles it and shows it as its target, unless it was dropped meanwhile. As slow as `settle`."""
        self.settle()
        with self._turn:
            if not self._dropped:
                self.show()

    def show(self) -> None:
        """Shows it, durably. Raises DiskFull; OSError when the target exists."""
        with disk_errors(self._target.parent, 4096):
            self._folder.rename(self._target)
            self.published = True
            sync_folder(self._target.parent)

    def drop(self) -> None:
        """Removes it, and also what a thread that nobody waits for any more has just shown."""
        with self._turn:
            self._dropped = True
            if self.published:
                with suppress(OSError):
                    self._target.rename(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _note(self, path: str, size: int, sha256: str) -> None:
        self._files[escaped(path)] = (size, sha256)


def _linked_or_opened(blob: Path, target: str) -> int | None:
    """None once `target` is a link to the blob; where none can be made, a new file there, to be copied to."""
    try:
        os.link(blob, target)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    return None


def _copy(blob: Path, descriptor: int) -> None:
    with os.fdopen(descriptor, "wb") as stream, blob.open("rb") as source:
        os.fchmod(descriptor, stat.S_IMODE(os.fstat(source.fileno()).st_mode))
        shutil.copyfileobj(source, stream)


def take_back(target: Path) -> None:
    """Removes an attempt that was shown, from one moment to the next. Raises OSError when it is not there."""
    aside = _draft_of(target)
    target.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _draft_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.draft")


def read_checks(folder: Path) -> tuple[CheckRow, ...]:
    """The rows of an attempt's checks.json. Raises OSError, and ValidationError when it is damaged."""
    data = json.parse((folder / "evaluation" / "checks.json").read_bytes(), max_bytes=4 * MAX_BYTES)
    return tuple(CheckRow.model_validate_json(json.canonical(row)) for row in data["checks"])


@contextmanager
def drafted(target: Path, masker: Callable[[], Masker] = own_masker) -> Iterator[Draft]:
    """A draft that becomes `target` at the end of the block, and nothing at all when the block raises.

    The block settles the draft, or publishes it. Raises DiskFull. `target` must not exist.
    """
    folder = _draft_of(target)
    draft = Draft(folder, target, masker)
    try:
        if os.path.lexists(folder):
            shutil.rmtree(folder, ignore_errors=True)
        make_folder(folder)
        yield draft
        if not draft.published:
            draft.show()
    except BaseException:
        draft.drop()
        raise
