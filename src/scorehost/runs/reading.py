"""A job on disk read back: what it was asked, what it summed up, and every finished attempt that is sound."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.runs.claim import is_running
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import FILE, History, read_history
from scorehost.runs.provoked import Provoked, provoked
from scorehost.runs.reader import ATTEMPTS, SUMMARY_FILE, BadFile, Reader
from scorehost.runs.scored import Scored, scored
from scorehost.runs.soundness import file_faults

if TYPE_CHECKING:
    from scorehost.model.check import CheckRow
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Result
    from scorehost.model.summary import Summary
    from scorehost.runs.record import JobRecord


_ABOVE = 3  # from an attempt's folder up to that of its job: submission, task, attempts


@dataclass(frozen=True, slots=True)
class Attempt:
    """One finished attempt; `carried_from` is the job that scored it when that was an earlier one."""

    result: Result
    folder: Path
    carried_from: str | None

    @property
    def key(self) -> AttemptKey:
        """Which attempt it is."""
        return self.result.key

    @property
    def place(self) -> str:
        """Its folder below the job's own."""
        return f"{ATTEMPTS}/{self.key.folder}"

    def reader(self) -> Reader:
        """Reads files of its job (those of the attempt below `place`); for a `with`. Raises BadFile."""
        return Reader(self.folder.parents[_ABOVE])

    def checks(self) -> tuple[CheckRow, ...]:
        """The rows of its checks.json. Raises BadFile."""
        with self.reader() as reader:
            return reader.checks(self.place)


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A job as its folder shows it; `attempts` by task, submission, sample and repeat.

    `damaged` says of each attempt that was left out what is wrong with its files; `summary` is None for a job
    that never came to its end; `running`: somebody was at it when it was read; `provoked`: which ERRORs the
    work itself can have brought about. `faults` says which of the job's own files are gone, cut or not those
    that its events tell of.
    """

    folder: JobFolder
    record: JobRecord
    summary: Summary | None
    history: History
    attempts: tuple[Attempt, ...]
    damaged: tuple[str, ...]
    running: bool = False
    faults: tuple[str, ...] = ()
    provoked: Provoked = field(default_factory=Provoked)

    @property
    def status(self) -> str:
        """The job's status; `running` while it is, `interrupted` when nobody could write one."""
        if self.running:
            return "running"
        return "interrupted" if self.summary is None else self.summary.status

    def scored(self, attempt: Attempt) -> Scored:
        """The attempt as figures take it."""
        return self.provoked.counted(_scored(self.record, attempt.result))


def read_job(folder: JobFolder) -> ReadJob:
    """Reads a whole job. Raises UsageError when the folder holds none that can be read."""
    record = folder.read_record()
    running = is_running(folder.path)  # asked first: what ends meanwhile is not taken for broken
    attempts: list[Attempt] = []
    damaged: list[str] = []
    try:
        history = read_history(folder.path / FILE)
        with Reader(folder.path) as reader:
            for name in reader.attempts():
                try:
                    result, _ = sound_result(reader, name, folder.job_id, history)
                    place = folder.path / ATTEMPTS / name
                    attempts.append(Attempt(result, place, history.carried.get(name)))
                except BadFile as error:
                    damaged.append(f"{name}: {error}")
            missing = set(history.results) - {str(one.key) for one in attempts}
            damaged += [
                f"{name}: its folder is gone"
                for name in sorted(missing)
                if not reader.there(f"{ATTEMPTS}/{name}")
            ]
            summary = _summary(folder, reader)
            faults = () if running else file_faults(reader, history, [str(one.key) for one in attempts])
    except BadFile as error:
        raise UsageError(f"The job {folder.path} cannot be read: {error}.") from None
    kept = [_scored(record, one.result) for one in attempts]
    return ReadJob(
        folder=folder,
        record=record,
        summary=summary,
        history=history,
        attempts=tuple(sorted(attempts, key=lambda one: _order(one.key))),
        damaged=tuple(damaged),
        running=running,
        faults=faults,
        provoked=provoked(kept, record.tasks),
    )


def _scored(record: JobRecord, result: Result) -> Scored:
    task = record.tasks.get(result.key.task_id)
    return scored(result, () if task is None else (metric.id for metric in task.metrics))


def sound_result(reader: Reader, name: str, job_id: str, history: History) -> tuple[Result, str]:
    """The result of the attempt `name` of a job, and its hex sha256; BadFile when it is missing, damaged, of
    another attempt, or not what the journal says.
    """
    result, digest = reader.result(f"{ATTEMPTS}/{name}")
    if str(result.key) != name or result.job_id not in (job_id, history.carried.get(name)):
        raise BadFile("result.json is another attempt's")
    if history.results.get(name, digest) != digest:
        raise BadFile("result.json is not what the journal says")
    return result, digest


def _order(key: AttemptKey) -> tuple[str, str, int, int]:
    return key.task_id, key.submission, key.sample, key.repeat


def _summary(folder: JobFolder, reader: Reader) -> Summary | None:
    try:
        return reader.summary()
    except BadFile as error:
        if error.missing:
            return None
        raise UsageError(
            f"{folder.path / SUMMARY_FILE} cannot be read: {error}.",
            hint=f"`scorehost run --resume {folder.job_id}` writes it anew and scores nothing twice.",
        ) from None
