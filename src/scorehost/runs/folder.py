"""A job's folder: made, found by a word, and pointed to by `runs/latest`."""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.files.atomic import PARTIAL, disk_errors, write_atomic
from scorehost.files.removal import remove_tree
from scorehost.model.ids import JOB_ID, AttemptKey, new_job_id
from scorehost.model.json import dump
from scorehost.model.spelling import near, some
from scorehost.runs.claim import claimed, made_folder
from scorehost.runs.reader import JOB_FILE, RECORD_BYTES, BadFile, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scorehost.runs.record import JobRecord

INCOMING = "incoming"
LATEST = "latest"
RESERVE_FILE = f".reserve{PARTIAL}"
DRAFTS = "attempts/*/*/.*.draft"  # attempts that were not published
PUBLISHED = "attempts/*/*/[!.]*"
HAND_IN = "hand-in-"  # folders of what a scorer was handed in
RESERVE_BYTES, RESERVE_PER_PART = 65_536, 2_048


class JobFolder:
    """The paths of one job."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job_id = path.name
        self.incoming = path / INCOMING  # unpacked archives; gone when the job ends

    def attempt(self, key: AttemptKey) -> Path:
        """Where the attempt is published."""
        return self.path / "attempts" / key.folder

    def tries(self, key: AttemptKey) -> Path:
        """Where earlier tries of the attempt are kept, in folders `1`, `2`, …"""
        return self.path / "tries" / key.folder

    @property
    def has_attempts(self) -> bool:
        """Whether anything was published in it: that is of worth, also without job.json."""
        return any(self.path.glob(PUBLISHED))

    @property
    def begun(self) -> bool:
        """Whether the job got as far as job.json; a folder without it holds nothing of worth."""
        return (self.path / JOB_FILE).exists()

    def reserve(self, parts: int) -> None:
        """Keeps room for summary.json of so many tasks, submissions and tags, in case the disk fills up.

        Raises DiskFull when there is none.
        """
        size = RESERVE_BYTES + parts * RESERVE_PER_PART
        with disk_errors(self.path, size):
            how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            descriptor = os.open(self.path / RESERVE_FILE, how, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, size)
            finally:
                os.close(descriptor)

    def release(self) -> None:
        """Gives that room back."""
        (self.path / RESERVE_FILE).unlink(missing_ok=True)

    def tidy(self, *, drafts: bool = True) -> None:
        """Removes what a killed process left half done; for whoever holds the folder.

        Without `drafts` attempts are looked through only where the job's reserve is still there.
        """
        remove_tree(self.incoming)
        if drafts or (self.path / RESERVE_FILE).exists():  # it goes when a job ends, so that one did not end
            for draft in self.path.glob(DRAFTS):
                remove_tree(draft)
            for hand_in in self.path.glob(f"{HAND_IN}*"):
                remove_tree(hand_in)
        for partial in self.path.glob(f".*{PARTIAL}"):
            partial.unlink(missing_ok=True)

    def write_record(self, record: JobRecord) -> bytes:
        """Writes job.json once and gives its bytes."""
        data = dump(record.model_dump(mode="json"))
        write_atomic(self.path / JOB_FILE, data)
        return data

    def record_hash(self) -> str:
        """The hex sha256 of job.json. Raises BadFile."""
        with Reader(self.path) as reader:
            return hashlib.sha256(reader.data(JOB_FILE, RECORD_BYTES)).hexdigest()

    def read_record(self) -> JobRecord:
        """What job.json says; UsageError when it is missing or cannot be read."""
        try:
            with Reader(self.path) as reader:
                return reader.record()
        except BadFile as error:
            if error.missing:
                raise UsageError(f"{self.path} is no job: it has no {JOB_FILE}.") from None
            raise UsageError(
                f"{self.path / JOB_FILE} cannot be read: {error}.",
                hint="Restore the file, or read the job with the scorehost that wrote it.",
            ) from None


@contextmanager
def new_folder(out: Path, job_id: str | None = None) -> Iterator[JobFolder]:
    """A new job's folder, claimed. One that ends before job.json is written leaves nothing behind."""
    with made_folder(out, job_id or new_job_id(), "job", keep=lambda path: JobFolder(path).begun) as path:
        folder = JobFolder(path)
        try:
            yield folder
        finally:
            remove_tree(folder.incoming)


@contextmanager
def known_folder(folder: JobFolder) -> Iterator[JobFolder]:
    """The folder of a job that exists, claimed, without what a dead process left half done."""
    with claimed(folder.path, "job") as broken_off:
        folder.tidy(drafts=broken_off)
        try:
            yield folder
        finally:
            remove_tree(folder.incoming)


def find_job(out: Path, word: str) -> JobFolder:
    """The job that `word` names: `latest`, an id, a unique beginning of one, or a folder.

    UsageError when there is none or more than one.
    """
    if word == LATEST:
        target = out / LATEST
        if not target.exists():
            raise UsageError(f"{out} has no latest job.", hint="Run one first, or name a job.")
        return _job_at(target)
    ids = job_ids(out)
    if JOB_ID.fullmatch(word) and word in ids:
        return _job_at(out / word)
    matching = [job_id for job_id in ids if word and job_id.startswith(word)]
    if len(matching) > 1:
        raise UsageError(
            f"{word} begins {len(matching)} jobs of {out}.",
            hint=f"Type more of it: {some(matching[::-1])}",
        )
    if matching:
        return _job_at(out / matching[0])
    if word and Path(word).is_dir():
        return _job_at(Path(word))
    raise UsageError(f"There is no job {word!r} in {out}.", hint=near(word, ids))


def job_ids(out: Path) -> list[str]:
    """The ids of all jobs below `out`, oldest first."""
    try:
        return sorted(entry.name for entry in os.scandir(out) if JOB_ID.fullmatch(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _job_at(path: Path) -> JobFolder:
    folder = JobFolder(path.resolve())
    if not folder.begun:
        raise UsageError(f"{path} is no job: it has no {JOB_FILE}.", hint="Name a folder below runs/.")
    return folder


def point_latest(folder: JobFolder) -> str:
    """Lets `runs/latest` point to the job. Gives a warning, or "" when it worked."""
    out = folder.path.parent
    link = out / LATEST
    if link.exists() and not link.is_symlink():
        return f"{link} is not a link; it was left as it is, so `latest` does not name this job."
    fresh = out / f".{LATEST}.{secrets.token_hex(4)}{PARTIAL}"
    try:
        fresh.symlink_to(folder.job_id)
        fresh.replace(link)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        return f"{link} could not be set: {error.strerror}."
    return ""
