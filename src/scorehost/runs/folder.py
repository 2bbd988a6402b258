"""A job's folder: made, found by a word, locked, and pointed to by `runs/latest`."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.files.atomic import PARTIAL, disk_errors, make_folder, write_atomic
from scorehost.model.ids import JOB_ID, AttemptKey, new_job_id
from scorehost.model.json import dump
from scorehost.model.spelling import near
from scorehost.runs.record import JobRecord, parse_record

if TYPE_CHECKING:
    from collections.abc import Iterator

JOB_FILE = "job.json"
SUMMARY_FILE = "summary.json"
LOCK_FILE = ".lock"
INCOMING = "incoming"
LATEST = "latest"
RESERVE_FILE = f".reserve{PARTIAL}"
DRAFTS = "attempts/*/*/.*.draft"  # attempts that were not published
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
    def begun(self) -> bool:
        """Whether the job got as far as job.json; a folder without it holds nothing of worth."""
        return (self.path / JOB_FILE).exists()

    def reserve(self, parts: int) -> None:
        """Keeps room for summary.json of so many tasks, submissions and tags, in case the disk fills up.

        Raises DiskFull when there is none.
        """
        size = RESERVE_BYTES + parts * RESERVE_PER_PART
        with disk_errors(self.path, size), (self.path / RESERVE_FILE).open("wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, size)
            (self.path / RESERVE_FILE).chmod(0o600)

    def release(self) -> None:
        """Gives that room back."""
        (self.path / RESERVE_FILE).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Removes what a killed process left half done; for whoever holds the job's lock."""
        remove_tree(self.incoming)
        if (self.path / RESERVE_FILE).exists():  # it goes when a job ends, so that one did not end
            for draft in self.path.glob(DRAFTS):
                remove_tree(draft)
        for partial in self.path.glob(f".*{PARTIAL}"):
            partial.unlink()

    def write_record(self, record: JobRecord) -> bytes:
        """Writes job.json once and gives its bytes."""
        data = dump(record.model_dump(mode="json"))
        write_atomic(self.path / JOB_FILE, data)
        return data

    def read_record(self) -> JobRecord:
        """What job.json says; UsageError when it is missing or cannot be read."""
        path = self.path / JOB_FILE
        try:
            return parse_record(path.read_bytes())
        except FileNotFoundError:
            raise UsageError(f"{self.path} is no job: it has no {JOB_FILE}.") from None
        except (OSError, ValidationError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise UsageError(
                f"{path} cannot be read: {first}.", hint="Start a new job; its attempts stay readable."
            ) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the job's lock; UsageError at once when another process has it."""
    lock = FileLock(folder / LOCK_FILE, timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"The job {folder.name} is being run by another process.",
            hint="Wait until it ends, or stop it; then --resume it.",
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def new_folder(out: Path, job_id: str | None = None) -> Iterator[JobFolder]:
    """A new job's folder, locked. One that ends before job.json is written leaves nothing behind."""
    out = out.absolute()
    folder = JobFolder(out / (job_id or new_job_id()))
    lock = ExitStack()
    try:
        fresh_out = not out.exists()
        make_folder(out)
        with disk_errors(out, 4096), _one_at_a_time(out):
            folder.path.mkdir(mode=0o700)
            try:
                lock.enter_context(locked(folder.path))
            except BaseException:
                remove_tree(folder.path)
                raise
    except OSError as error:
        raise UsageError(
            f"No job can be put into {out}: {error.strerror}.",
            hint="Name a folder that you may write to: --out DIR.",
        ) from None
    with lock:
        try:
            yield folder
        finally:
            remove_tree(folder.incoming)
            if not folder.begun:
                with _one_at_a_time(out):
                    remove_tree(folder.path)
                if fresh_out:
                    with suppress(OSError):
                        out.rmdir()


@contextmanager
def _one_at_a_time(out: Path) -> Iterator[None]:
    """Held for a moment: else a sweep takes a new job's folder, made and not yet locked, for a dead one's.

    The folder itself is locked, so that no file stays. Where its file system cannot do that, nothing is held.
    """
    handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def known_folder(folder: JobFolder) -> Iterator[JobFolder]:
    """The folder of a job that exists, locked, without what a dead process left half done."""
    with locked(folder.path):
        folder.tidy()
        try:
            yield folder
        finally:
            remove_tree(folder.incoming)


def remove_tree(path: Path) -> None:
    """Removes a folder of ours with all that is in it; links are removed, not followed. Quiet when absent."""
    with suppress(FileNotFoundError):
        shutil.rmtree(path)


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
            hint="Type more of it: " + ", ".join(matching[-5:]),
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


def sweep(out: Path) -> None:
    """Removes what killed jobs left below `out`: unpacked archives, drafts, folders without job.json.

    A job that another process runs is left alone.
    """
    for job_id in job_ids(out):
        folder = JobFolder(out / job_id)
        reserved = folder.path / RESERVE_FILE
        if folder.begun and not folder.incoming.exists() and not reserved.exists():
            continue
        with suppress(UsageError, OSError), ExitStack() as lock:
            with _one_at_a_time(out):
                lock.enter_context(locked(folder.path))
            if folder.begun:
                folder.tidy()
            else:
                remove_tree(folder.path)
