"""The logs of one attempt: found by words, in the order in which one reads them."""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from scorehost.errors import UsageError
from scorehost.files.below import kind_of
from scorehost.model.spelling import near
from scorehost.runs.reader import LOGS, BadFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scorehost.runs.reading import Attempt, ReadJob

_EXEC = re.compile(r"(?P<host>.+)\.(?P<number>[0-9]+)\.(?P<stream>stdout|stderr)\.log")
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class AttemptLog:
    """One log file; `path` is relative to the attempt's folder."""

    path: str
    attempt: Attempt

    @property
    def size(self) -> int:
        """Bytes, as they are now. Raises BadFile."""
        with self.open() as stream:
            return os.fstat(stream.fileno()).st_size

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The log, to be read. Raises BadFile when it is no regular file of the job's own."""
        with self.attempt.reader() as reader:
            stream = os.fdopen(reader.open(f"{self.attempt.place}/{self.path}"), "rb")
        with stream:
            yield stream


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
    files = sorted(_files(attempt), key=_order)
    if wanted.host is None:
        return attempt, tuple(files)
    hosts = {_host(_name(one)) for one in files}
    if wanted.host not in hosts:
        raise UsageError(f"{attempt.key} has no log of host {wanted.host}.", hint=near(wanted.host, hosts))
    return attempt, tuple(one for one in files if _host(_name(one)) == wanted.host)


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


def _files(attempt: Attempt) -> list[AttemptLog]:
    with attempt.reader() as reader:
        found = reader.names(f"{attempt.place}/{LOGS}")
    for name, kind in found:
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            raise BadFile(f"{attempt.key}: {LOGS}/{name} is {kind_of(kind)}, so it is not read")
    return [AttemptLog(f"{LOGS}/{name}", attempt) for name, kind in found if kind == stat.S_IFREG]


def _name(one: AttemptLog) -> str:
    return one.path.removeprefix(f"{LOGS}/")


def _host(name: str) -> str:
    found = _EXEC.fullmatch(name)
    return found["host"] if found else name.removesuffix(".log")


def _order(one: AttemptLog) -> tuple[bool, str, int, str]:
    found = _EXEC.fullmatch(_name(one))
    if found is None:
        return False, _name(one), 0, ""
    return True, found["host"], int(found["number"]), "2" if found["stream"] == "stderr" else "1"
