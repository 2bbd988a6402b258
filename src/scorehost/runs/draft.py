"""The folder of an attempt: drafted aside, written through to disk, and shown whole by one rename."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scorehost.errors import Interrupted
from scorehost.files.atomic import disk_errors, disk_trouble, make_folder, sync_folder, write_all
from scorehost.files.durable import make_durable
from scorehost.files.names import escaped
from scorehost.files.removal import remove_tree
from scorehost.model import json
from scorehost.model.check import CheckRow
from scorehost.model.masking import Masker
from scorehost.model.result import Result, result_bytes
from scorehost.runs.blobs import Blobs, HeldBlobs, copy_into, linked_or_opened
from scorehost.runs.manifest import (
    MANIFEST_FILE,
    SALTS_FILE,
    Manifest,
    ManifestFile,
    fresh_salts,
    listed_digest,
    manifest_bytes,
)
from scorehost.runs.private import is_private
from scorehost.runs.reader import CHECKS_FILE, RESULT_FILE
from scorehost.spec.own_secrets import own_masker

OPEN_FILES = 16  # of a draft that stay open until the disk has them: opening again costs as much as writing


class Draft:
    """An attempt's folder before it is shown. Every file is hashed when it is written; `settle` makes all of
    it durable, and `publish` does that and shows it.

    Its methods block. Threads may write different files side by side, and any may drop it.
    """

    def __init__(self, folder: Path, target: Path, masker: Callable[[], Masker] = own_masker) -> None:
        self._folder = folder
        self._target = target
        self._masker = masker
        self._files: dict[str, tuple[int, str]] = {}  # size and hex sha256 by path
        self._unsettled: list[str | int] = []
        self._open: list[int] = []
        self._top = os.fspath(folder)
        self._held = f"{self._top}/.held"  # what was taken in and has no place yet
        self._made: set[str] = set()  # the folders of the draft
        self._turn = threading.Lock()
        self._dropped = False
        self.published = False

    @property
    def staging(self) -> Path:
        """A place on the same disk for what is not yet a part of it; whoever uses it removes it again."""
        return self._folder / ".staging"

    def begin(self) -> None:
        """Makes its folder, in place of one that a dead process left; quiet when it was begun."""
        with self.wanted():
            if not self._made:
                remove_tree(self._folder)
                make_folder(self._folder)
                self._made.add(self._top)

    def write(self, path: str, data: bytes) -> None:
        """Writes one file. Raises DiskFull."""
        target = self._place(path)
        with disk_trouble(self._folder, len(data)):
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                write_all(descriptor, data)
            except BaseException:
                os.close(descriptor)
                raise
        if len(self._open) < OPEN_FILES:
            self._open.append(descriptor)
            self._unsettled.append(descriptor)
        else:
            os.close(descriptor)
            self._unsettled.append(target)
        self._note(path, len(data), hashlib.sha256(data).hexdigest())

    def write_json(self, path: str, value: Any) -> None:
        """Writes a value as JSON."""
        self.write(path, json.dump(value))

    def make(self, folder: str) -> None:
        """Makes an empty folder."""
        with self.wanted():
            self._make(f"{self._top}/{folder}")

    def holding(self, blobs: Blobs) -> HeldBlobs:
        """The blobs for what this draft takes in: each content stays from the moment it is stored."""
        self.begin()
        held = Path(self._held)
        make_folder(held)
        return HeldBlobs(blobs, held)

    def link(self, path: str, source: Path, *, size: int, sha256: str) -> Path:
        """Links a content below `path`, or moves it there from where the draft holds it; its place.

        In a thread it raises Interrupted soon after the draft was dropped, and makes nothing any more.
        """
        descriptor = None
        with self.wanted(), disk_trouble(self._folder, size):
            target = self._place(path)
            if os.path.dirname(source) == self._held:  # noqa: PTH120 - one of thousands
                os.rename(source, target)  # noqa: PTH104
            else:
                descriptor = linked_or_opened(source, target)
        if descriptor is not None:  # a copy may take long: who drops the draft must not wait for it
            with disk_trouble(self._folder, size):
                copy_into(source, descriptor)
        self._unsettled.append(target)
        self._note(path, size, sha256)
        return Path(target)

    def let_go(self) -> None:
        """Gives up what was held and not linked."""
        try:
            os.rmdir(self._held)  # noqa: PTH106 - one call for what is most often empty
        except FileNotFoundError:
            return
        except OSError:
            remove_tree(Path(self._held))

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """Work of a thread on a draft that nobody drops meanwhile. Raises Interrupted once it was dropped."""
        with self._turn:
            if self._dropped:
                raise Interrupted("nobody waits for this attempt any more")
            yield

    def close(self, result: Result, checks: tuple[CheckRow, ...]) -> None:
        """Writes checks, result and, last, the manifest of all files."""
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

    def publishing(self) -> Iterator[list[str | int]]:
        """Shows it, step by step: after each it waits until the disk has what it gives. Raises DiskFull.

        A draft that was dropped meanwhile is not shown.
        """
        self.let_go()
        try:
            yield [*self._unsettled, *self._made]
        finally:
            self.close_files()
        with self._turn:
            if self._dropped:
                return
            with disk_errors(self._target.parent, 4096):
                self._folder.rename(self._target)
            self.published = True
        yield [os.fspath(self._target.parent)]

    def settle(self) -> None:
        """Waits until the disk has every file and folder. Raises DiskFull."""
        self.let_go()
        try:
            with disk_errors(self._folder, 4096):
                make_durable([*self._unsettled, *self._made])
        finally:
            self.close_files()

    def publish(self) -> None:
        """Settles it and shows it as its target, unless it was dropped meanwhile. Raises DiskFull."""
        for paths in self.publishing():
            with disk_errors(self._target.parent, 4096):
                make_durable(paths)

    def show(self) -> None:
        """Shows it, durably. Raises DiskFull; OSError when the target exists."""
        with disk_errors(self._target.parent, 4096):
            self._folder.rename(self._target)
            self.published = True
            sync_folder(self._target.parent)

    def drop(self) -> None:
        """Removes it, and also what a thread that nobody waits for any more has just shown."""
        self.close_files()
        with self._turn:
            self._dropped = True
            if self.published:
                with suppress(OSError):
                    self._target.rename(self._folder)
        with suppress(OSError):
            remove_tree(self._folder)

    def close_files(self) -> None:
        """Closes what was left open to be settled. Harmless when it was already."""
        while self._open:
            os.close(self._open.pop())
        self._unsettled = [path for path in self._unsettled if isinstance(path, str)]

    def _place(self, path: str) -> str:
        """Where a file of the draft goes; its folders are there then."""
        target = f"{self._top}/{path}"
        self._make(target.rpartition("/")[0])
        return target

    def _make(self, folder: str) -> None:
        if folder not in self._made:
            self._make(folder.rpartition("/")[0])
            with disk_trouble(self._folder, 4096), suppress(FileExistsError):
                os.mkdir(folder, 0o700)  # noqa: PTH102 - plain calls: these are most of what an attempt costs
            self._made.add(folder)

    def _note(self, path: str, size: int, sha256: str) -> None:
        self._files[escaped(path)] = (size, sha256)


def take_back(target: Path) -> None:
    """Removes an attempt that was shown, from one moment to the next. Raises OSError when it is not there."""
    aside = draft_of(target)
    target.rename(aside)
    with suppress(OSError):
        remove_tree(aside)


def draft_of(target: Path) -> Path:
    """Where the draft of an attempt lies."""
    return target.with_name(f".{target.name}.draft")


@contextmanager
def drafted(target: Path, masker: Callable[[], Masker] = own_masker) -> Iterator[Draft]:
    """A draft that becomes `target` at the end of the block, and nothing at all when the block raises.

    The block settles the draft, or publishes it. Raises DiskFull. `target` must not exist.
    """
    draft = Draft(draft_of(target), target, masker)
    try:
        draft.begin()
        yield draft
        draft.let_go()
        if not draft.published:
            draft.show()
    except BaseException:
        draft.drop()
        raise
    finally:
        draft.close_files()
