"""Jobs and their attempts as lists, quickly: a file for each job below runs/.index, made anew in doubt.

It is a copy of what the job's files say, and only for listing: whoever reads a job for its figures reads the
files. Where it is missing, damaged or of other files than those that are there, the files are read; where it
cannot be written, nothing is lost but time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from scorehost.errors import DiskTrouble, UsageError
from scorehost.files.atomic import PARTIAL, disk_errors, write_all
from scorehost.files.below import Below, Unread, read_below
from scorehost.model.frozen import Frozen
from scorehost.model.ids import AttemptKey
from scorehost.model.result import Status
from scorehost.runs.claim import is_running
from scorehost.runs.folder import JobFolder, job_ids
from scorehost.runs.journal import FILE
from scorehost.runs.reader import JOB_FILE, SUMMARY_FILE, BadFile, Reader
from scorehost.runs.reading import read_job
from scorehost.runs.scored import Scored

PLACE = ".index"
HEAD_BYTES = 64 * 1024
INDEX_BYTES = 256 * 1024 * 1024
RUNNING, INTERRUPTED, UNREADABLE = "running", "interrupted", "unreadable"

AttemptRow = tuple[str, str, int, int, Status, float | None, str | None, float]


class JobEntry(Frozen):
    """A job in a list; `status` is that of its summary, or `running`, `interrupted`, `unreadable`."""

    format: Literal["scorehost.index/1"] = "scorehost.index/1"
    job_id: str
    name: str | None = None
    dataset_id: str = ""
    created_at: str = ""
    status: str
    planned: int = 0
    done: int | None = None
    mean_score: float | None = None
    state: tuple[tuple[int, int, int], ...] = ()  # of the files that it describes


class AttemptEntry(Frozen):
    """An attempt in a list; `error` is the kind of an ERROR."""

    key: AttemptKey
    status: Status
    score: float | None
    error: str | None
    seconds: float


class _Rows(Frozen):
    attempts: tuple[AttemptRow, ...]


def list_jobs(out: Path) -> tuple[JobEntry, ...]:
    """Every job below `out`, oldest first; what cannot be read is listed as such."""
    return tuple(_entry(JobFolder(out / job_id)) for job_id in job_ids(out) if (out / job_id).is_dir())


def list_attempts(folder: JobFolder) -> tuple[AttemptEntry, ...]:
    """Every finished attempt of a job, by task, submission, sample and repeat. UsageError for what is no job.

    Of a job that has ended it is read from the index, which is made where there is none that fits.
    """
    state = _state(folder)
    kept = _kept(folder, state)
    if kept is None:
        job = read_job(folder)
        scored = [job.scored(one) for one in job.attempts]
        kept = _Rows(attempts=tuple(map(_row, scored)))
        if not is_running(folder.path):
            _write(folder, _read_entry(folder, state), kept)
    return tuple(map(_attempt, kept.attempts))


def index_job(folder: JobFolder, attempts: Iterable[Scored]) -> None:
    """Keeps the list of a job that has just ended; blocks, and is quiet where nothing can be written."""
    rows = sorted(
        attempts, key=lambda one: (one.key.task_id, one.key.submission, one.key.sample, one.key.repeat)
    )
    with suppress(UsageError):
        state = _state(folder)
        _write(folder, _read_entry(folder, state, lives=False), _Rows(attempts=tuple(map(_row, rows))))


def _entry(folder: JobFolder) -> JobEntry:
    try:
        state = _state(folder)
        entry = JobEntry.model_validate_json(_head(folder))
        if entry.state == state and entry.job_id == folder.job_id:
            return entry
    except (Unread, OSError, ValidationError, BadFile):
        pass
    return _read_entry(folder, ())


def _head(folder: JobFolder) -> bytes:
    """Its first line: the others are of ten thousand attempts, and a list of jobs needs none of them."""
    with Below(folder.path.parent) as below:
        descriptor = below.open(f"{PLACE}/{folder.job_id}")
    with os.fdopen(descriptor, "rb") as stream:
        return stream.readline(HEAD_BYTES)


def _read_entry(
    folder: JobFolder, state: tuple[tuple[int, int, int], ...], *, lives: bool | None = None
) -> JobEntry:
    try:
        record = folder.read_record()
        with Reader(folder.path) as reader:
            summary = None
            with suppress(BadFile):
                summary = reader.summary()
    except UsageError:
        return JobEntry(job_id=folder.job_id, status=UNREADABLE)
    alive = is_running(folder.path) if lives is None else lives
    status = RUNNING if alive else INTERRUPTED if summary is None else summary.status
    return JobEntry(
        job_id=folder.job_id,
        name=record.asked.name,
        dataset_id=record.dataset.dataset_id,
        created_at=record.created_at,
        status=status,
        planned=record.plan.planned,
        done=None if summary is None else summary.done,
        mean_score=None if summary is None else summary.mean_score,
        state=state,
    )


def _kept(folder: JobFolder, state: tuple[tuple[int, int, int], ...]) -> _Rows | None:
    try:
        data = read_below(folder.path.parent, f"{PLACE}/{folder.job_id}", INDEX_BYTES)
        head, _, rows = data.partition(b"\n")
        entry = JobEntry.model_validate_json(head)
        if entry.state != state or entry.job_id != folder.job_id:
            return None
        return _Rows.model_validate_json(rows)
    except (Unread, ValidationError):
        return None


def _state(folder: JobFolder) -> tuple[tuple[int, int, int], ...]:
    """Inode, size and time of the files that say everything; zeros for one that is not there."""
    found = []
    for name in (JOB_FILE, SUMMARY_FILE, FILE):
        try:
            status = os.lstat(folder.path / name)
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append((0, 0, 0))
    return tuple(found)


def _write(folder: JobFolder, entry: JobEntry, rows: _Rows) -> None:
    # Two processes that write at once write the same; one that a crash of the machine tore does not parse.
    place = folder.path.parent / PLACE
    partial = place / f".{folder.job_id}.{os.getpid()}{PARTIAL}"
    data = entry.model_dump_json().encode() + b"\n" + rows.model_dump_json().encode()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        with disk_errors(place, len(data)):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
            partial.replace(place / folder.job_id)
        for gone in set(job_ids(place)) - set(job_ids(folder.path.parent)):  # of jobs that were deleted
            (place / gone).unlink(missing_ok=True)
    except (OSError, DiskTrouble):
        with suppress(OSError):
            partial.unlink()


def _row(one: Scored) -> AttemptRow:
    key, error = one.key, one.error
    kind = None if error is None else error.kind
    return (key.task_id, key.submission, key.sample, key.repeat, one.status, one.score, kind, one.seconds)


def _attempt(row: AttemptRow) -> AttemptEntry:
    task_id, submission, sample, repeat, status, score, error, seconds = row
    key = AttemptKey(task_id=task_id, submission=submission, sample=sample, repeat=repeat)
    return AttemptEntry(key=key, status=status, score=score, error=error, seconds=seconds)
