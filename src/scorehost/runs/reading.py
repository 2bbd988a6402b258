"""A job on disk read back: what it was asked, what it summed up, and every finished attempt that is sound."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.model.result import Result, read_result
from scorehost.model.summary import Summary
from scorehost.runs.folder import SUMMARY_FILE, JobFolder
from scorehost.runs.journal import FILE, History, line_hash, read_history
from scorehost.runs.scored import Scored, scored_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scorehost.model.ids import AttemptKey
    from scorehost.runs.record import JobRecord


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


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A job as its folder shows it; `attempts` by task, submission, sample and repeat.

    `damaged` says of each attempt that was left out what is wrong with its files; `summary` is None for a job
    that never came to its end.
    """

    folder: JobFolder
    record: JobRecord
    summary: Summary | None
    history: History
    attempts: tuple[Attempt, ...]
    damaged: tuple[str, ...]

    @property
    def status(self) -> str:
        """The job's status; `interrupted` when nobody could write one."""
        return "interrupted" if self.summary is None else self.summary.status

    def scored(self, attempt: Attempt) -> Scored:
        """The attempt as figures take it."""
        task = self.record.tasks.get(attempt.key.task_id)
        return scored_with(attempt.result, () if task is None else task.metrics)


def read_job(folder: JobFolder) -> ReadJob:
    """Reads a whole job. Raises UsageError when the folder holds none that can be read."""
    record = folder.read_record()
    history = read_history(folder.path / FILE)
    attempts: list[Attempt] = []
    damaged: list[str] = []
    for name in _names(folder.path / "attempts"):
        attempt = _attempt(folder, name, history)
        if isinstance(attempt, str):
            damaged.append(f"{name}: {attempt}")
        else:
            attempts.append(attempt)
    missing = set(history.results) - {str(one.key) for one in attempts}
    damaged += [
        f"{name}: its folder is gone"
        for name in sorted(missing)
        if not os.path.lexists(folder.path / "attempts" / name)
    ]
    return ReadJob(
        folder=folder,
        record=record,
        summary=_summary(folder),
        history=history,
        attempts=tuple(sorted(attempts, key=lambda one: _order(one.key))),
        damaged=tuple(damaged),
    )


def _order(key: AttemptKey) -> tuple[str, str, int, int]:
    return key.task_id, key.submission, key.sample, key.repeat


def _names(top: Path) -> Iterator[str]:
    """`<task>/<submission>/<sample>.<repeat>` of every published attempt."""
    for task in _folders(top):
        for submission in _folders(top / task):
            for name in _folders(top / task / submission):
                yield f"{task}/{submission}/{name}"


def _folders(top: Path) -> list[str]:
    try:
        with os.scandir(top) as entries:
            # A name with a dot in front is an attempt that is still being drafted.
            return sorted(
                entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")
            )
    except FileNotFoundError:
        return []


def _attempt(folder: JobFolder, name: str, history: History) -> Attempt | str:
    place = folder.path / "attempts" / name
    try:
        data = (place / "result.json").read_bytes()
        result = read_result(data)
    except OSError as error:
        return f"result.json: {error.strerror}"
    except ValidationError:
        return "result.json does not parse"
    carried_from = history.carried.get(name)
    if str(result.key) != name or result.job_id not in (folder.job_id, carried_from):
        return "result.json is another attempt's"
    if history.results.get(name, line_hash(data)) != line_hash(data):
        return "result.json is not what the journal says"
    return Attempt(result, place, carried_from)


def _summary(folder: JobFolder) -> Summary | None:
    path = folder.path / SUMMARY_FILE
    try:
        return Summary.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        raise UsageError(
            f"{path} cannot be read.",
            hint=f"`scorehost run --resume {folder.job_id}` writes it anew and scores nothing twice.",
        ) from None
