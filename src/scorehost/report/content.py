"""What a report shows of a job: nothing private unless it is asked for."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.model.metrics import unusable_words
from scorehost.model.summary import WarningsTold
from scorehost.model.verdicts import contradiction
from scorehost.runs.private import shown_check, shown_metrics
from scorehost.runs.reader import BadFile
from scorehost.runs.reason import reason
from scorehost.runs.warned import made_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scorehost.model.check import CheckRow
    from scorehost.model.failure import Failure
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Result, Status
    from scorehost.model.summary import Summary
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.runs.scored import Scored


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
    warnings: tuple[str, ...] = ()
    kept_back: bool = False  # something of it is private, and not shown


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
    faults: tuple[str, ...] = ()  # of the job's own files
    metrics: tuple[str, ...] = ()  # ids of all that its tasks declare
    labels: Mapping[str, str] = field(
        default_factory=dict
    )  # what a submission is called, where its name is not
    warned: WarningsTold = field(default_factory=WarningsTold)

    @property
    def unfinished(self) -> int:
        """How many planned attempts have no result that is sound."""
        return max(self.planned - len(self.attempts), 0)

    @property
    def without_summary(self) -> str:
        """Why there is no summary."""
        if self.damaged and self.message:  # there was one
            return "There is no summary, since attempts are damaged."
        if self.faults:
            return f"There is no summary: {self.faults[0]}."
        return "The job never came to its end, so there is no summary."

    @property
    def sound(self) -> bool:
        """Whether the job came to its end, and nothing of it is missing, mixed or damaged."""
        whole = self.status == "complete" and not self.unfinished
        return whole and not self.damaged and not self.faults

    @property
    def kept_back(self) -> str:
        """What is not shown, and the command that shows it; "" when nothing is kept back."""
        if self.private or not any(one.kept_back for one in self.attempts):
            return ""
        return (
            "Texts of private checks and metrics that are not declared are left out; "
            f"`scorehost report {self.job_id} --format html --private` shows them."
        )


def report_content(job: ReadJob, *, private: bool = False) -> Report:
    """Gathers a report; `private` lets in all metrics and the free text of private checks."""
    record = job.record
    attempts = tuple(_attempt(job, one, private=private) for one in job.attempts)
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
        attempts=attempts,
        damaged=job.damaged,
        private=private,
        faults=job.faults,
        metrics=tuple(sorted({metric.id for task in record.tasks.values() for metric in task.metrics})),
        labels={one.name: one.label for one in record.submissions if one.label is not None},
        warned=_warned(job, attempts),
    )


def _warned(job: ReadJob, attempts: Iterable[ReportedAttempt]) -> WarningsTold:
    """From events and results: a job without a summary has them too, and one of an earlier release."""
    tally = copy.deepcopy(job.history.warned)
    for one, read in zip(attempts, job.attempts, strict=True):
        tally.of_attempt(str(one.key), (*one.warnings, *made_again(read.result)))
    return tally.told()


def _said(job: ReadJob, result: Result, scored: Scored, rows: Iterable[CheckRow]) -> tuple[str, ...]:
    """Its warnings; results of earlier releases lack what can be told from their other keys."""
    task = job.record.tasks.get(scored.key.task_id)
    statuses = [row.status for row in rows]
    contrary = ""
    if task is not None:
        contrary = contradiction(result.status, result.score, task.score_range, statuses, task.direction)
    words = [contrary] if contrary else []
    return tuple(dict.fromkeys((*result.warnings, *words, *unusable_words(scored.unusable))))


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
    rows = _checks(one)
    checks = tuple(shown_check(row, private=private) for row in rows)
    metrics = shown_metrics(result, scored, private=private)
    whole = shown_metrics(result, scored, private=True)
    return ReportedAttempt(
        key=one.key,
        status=result.status,
        score=result.score,
        seconds=scored.seconds,
        timing=result.timing,
        started_at=result.started_at,
        reason=reason(scored, one.checks, private=private),
        error=result.error,
        metrics=metrics,
        checks=checks,
        carried_from=one.carried_from,
        warnings=_said(job, result, scored, rows),
        kept_back=len(metrics) < len(whole) or any(row.visibility != "public" for row in rows),
    )


def _checks(one: Attempt) -> tuple[CheckRow, ...]:
    try:
        return one.checks()
    except BadFile:  # the reason of a FAIL says so
        return ()
