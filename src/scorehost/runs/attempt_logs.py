"""The logs of one attempt: found by words, in the order in which one reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.runs.reading import Attempt, ReadJob

LOGS = "logs"
_EXEC = re.compile(r"(?P<host>.+)\.(?P<number>[0-9]+)\.(?P<stream>stdout|stderr)\.log")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class AttemptLog:
    """One log file; `path` is relative to the attempt's folder."""

    path: str
    file: Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which attempt of a task, and of which host; None: whichever there is one of."""

    task: str
    submission: str | None = None
    sample: int | None = None
    repeat: int | None = None
    host: str | None = None


def find_logs(job: ReadJob, wanted: Wanted) -> tuple[Attempt, tuple[AttemptLog, ...]]:
    """The attempt and its logs: the evaluator's first, then each exec's by host and number.

    UsageError when no attempt or more than one is meant, or when it has no log of `wanted.host`.
    """
    attempt = _attempt(job, wanted)
    files = sorted(_files(attempt.folder / LOGS), key=_order)
    if wanted.host is None:
        return attempt, tuple(files)
    hosts = {_host(one.file.name) for one in files}
    if wanted.host not in hosts:
        raise UsageError(f"{attempt.key} has no log of host {wanted.host}.", hint=near(wanted.host, hosts))
    return attempt, tuple(one for one in files if _host(one.file.name) == wanted.host)


def _attempt(job: ReadJob, wanted: Wanted) -> Attempt:
    of_task = [one for one in job.attempts if one.key.task_id == wanted.task]
    if not of_task:
        known = {one.key.task_id for one in job.attempts}
        raise UsageError(
            f"The job {job.folder.job_id} has no finished attempt of {wanted.task}.",
            hint=near(wanted.task, known),
        )
    found = [
        one
        for one in of_task
        if wanted.submission in (None, one.key.submission)
        and wanted.sample in (None, one.key.sample)
        and wanted.repeat in (None, one.key.repeat)
    ]
    if len(found) == 1:
        return found[0]
    text = (
        f"{len(found)} attempts of {wanted.task} are meant."
        if found
        else f"{wanted.task} has no such attempt."
    )
    raise UsageError(text, hint=_choices(found or of_task))


def _choices(attempts: Sequence[Attempt]) -> str:
    keys = [one.key for one in attempts]
    more = f"\n  and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    lines = [f"  --submission {k.submission} --sample {k.sample} --repeat {k.repeat}" for k in keys[:_SHOWN]]
    return "There are:\n" + "\n".join(lines) + more


def _files(folder: Path) -> list[AttemptLog]:
    try:
        names = [path.name for path in folder.iterdir() if path.is_file()]
    except FileNotFoundError:
        return []
    return [AttemptLog(f"{LOGS}/{name}", folder / name) for name in names]


def _host(name: str) -> str:
    found = _EXEC.fullmatch(name)
    return found["host"] if found else name.removesuffix(".log")


def _order(one: AttemptLog) -> tuple[bool, str, int, str]:
    found = _EXEC.fullmatch(one.file.name)
    if found is None:
        return False, one.file.name, 0, ""
    return True, found["host"], int(found["number"]), "2" if found["stream"] == "stderr" else "1"
