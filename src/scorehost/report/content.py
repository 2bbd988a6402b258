"""What a report shows of a job: nothing private unless it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scorehost.runs.private import shown_check, shown_metrics
from scorehost.runs.reader import BadFile
from scorehost.runs.reason import reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorehost.model.check import CheckRow
    from scorehost.model.failure import Failure
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Status
    from scorehost.model.summary import Summary
    from scorehost.runs.reading import Attempt, ReadJob


@dataclass(frozen=True, slots=True)
class ReportedAttempt:
    """One attempt. `metrics` are the declared ones; `checks` have id, status, and what else may be shown."""

    key: AttemptKey
    status: Status
    score: float | None
    seconds: float
    timing: Mapping[str, float]  # phase -> seconds
    started_at: str
    reason: str
    error: Failure | None
    metrics: Mapping[str, Any]
    checks: tuple[Mapping[str, Any], ...]
    carried_from: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """A job as reports show it. `summary` is None for a job that never came to its end, and for one of which
    attempts are damaged: its figures count what nothing proves any more.
    """

    job_id: str
    name: str | None
    dataset_id: str
    dataset_version: str
    scorehost: str
    created_at: str
    status: str
    message: str
    planned: int
    parent: str | None
    summary: Summary | None
    attempts: tuple[ReportedAttempt, ...]
    damaged: tuple[str, ...]
    private: bool

    @property
    def unfinished(self) -> int:
        """How many planned attempts have no result that is sound."""
        return max(self.planned - len(self.attempts), 0)

    @property
    def without_summary(self) -> str:
        """Why there is no summary."""
        if self.damaged and self.message:  # there was one
            return "There is no summary, since attempts are damaged."
        return "The job never came to its end, so there is no summary."

    @property
    def sound(self) -> bool:
        """Whether the job came to its end, and nothing of it is missing, mixed or damaged."""
        return self.status == "complete" and not self.damaged and not self.unfinished


def report_content(job: ReadJob, *, private: bool = False) -> Report:
    """Gathers a report; `private` lets in all metrics and the free text of private checks."""
    record = job.record
    return Report(
        job_id=record.job_id,
        name=record.asked.name,
        dataset_id=record.dataset.dataset_id,
        dataset_version=record.dataset.version,
        scorehost=record.scorehost,
        created_at=record.created_at,
        status=job.status,
        message=_message(job),
        planned=record.plan.planned,
        parent=None if record.parent is None else record.parent.job_id,
        summary=None if job.damaged else job.summary,
        attempts=tuple(_attempt(job, one, private=private) for one in job.attempts),
        damaged=job.damaged,
        private=private,
    )


def _message(job: ReadJob) -> str:
    if job.summary is None:
        return ""
    if job.damaged:
        return (
            f"The figures of this job are left out, since they count damaged attempts ({len(job.damaged)}). "
            f"`scorehost run --resume {job.record.job_id}` scores these again."
        )
    return job.summary.message


def _attempt(job: ReadJob, one: Attempt, *, private: bool) -> ReportedAttempt:
    result, scored = one.result, job.scored(one)
    return ReportedAttempt(
        key=one.key,
        status=result.status,
        score=result.score,
        seconds=scored.seconds,
        timing=result.timing,
        started_at=result.started_at,
        reason=reason(scored, one.checks, private=private),
        error=result.error,
        metrics=shown_metrics(result, scored, private=private),
        checks=tuple(shown_check(row, private=private) for row in _checks(one)),
        carried_from=one.carried_from,
    )


def _checks(one: Attempt) -> tuple[CheckRow, ...]:
    try:
        return one.checks()
    except BadFile:  # the reason of a FAIL says so
        return ()
