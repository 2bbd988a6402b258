"""The end of an audit: everything that was found, and what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.audit.commands import Commands
from scorehost.audit.judging import judge
from scorehost.audit.staging import read_kit, remove_staged, staged_at
from scorehost.errors import UsageError
from scorehost.files.atomic import write_atomic
from scorehost.files.below import Unread, read_below
from scorehost.model.audit import AuditReport
from scorehost.model.json import dump
from scorehost.runs.folder import JobFolder
from scorehost.runs.reader import RECORD_BYTES
from scorehost.runs.reading import read_job

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.jobs.outcome import JobOutcome
    from scorehost.model.audit import AuditFinding
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.scoring.choosing import Chosen

REPORT = "audit.json"
_INTERRUPTED = 130
_UNABLE = 2


def report_of(
    outcome: JobOutcome,
    chosen: Chosen,
    *,
    seconds: float,
    moved: JobOutcome | None = None,
) -> AuditReport:
    """Reads the audit's job back, judges it, and writes audit.json beside its summary.json.

    `moved` is the job in which the clock was ahead, where there was need of one. What was staged goes when
    nothing needs it any more: neither a resume of the audit nor the command of a finding.
    """
    asked = chosen.asked
    if asked.staged is None:
        raise UsageError(f"{outcome.job_id} is no audit.", hint="Start one with `scorehost audit`.")
    folder = JobFolder(outcome.folder)
    job = read_job(folder)
    kit = read_kit(asked.staged)
    tasks = {task.task_id: task for task in chosen.tasks}
    jobs = [outcome] if moved is None else [outcome, moved]
    ahead = () if moved is None else read_job(JobFolder(moved.folder)).attempts
    found = judge(tasks, job, kit, Commands(asked, chosen.dataset, folder), ahead=ahead)
    report = AuditReport(
        dataset=str(chosen.dataset.root),
        job_id=outcome.job_id,
        folder=str(outcome.folder),
        attacks=kit.attacks,
        tasks=len(tasks),
        attempts=len(job.attempts),
        seconds=round(seconds, 1),
        repeats=asked.repeat,
        mutants=found.mutants,
        survivors=found.survivors,
        findings=found.findings,
        passed=found.passed,
        unsound=found.unsound,
        complete=all(one.status == "complete" for one in jobs),
        exit_status=_status(jobs, found.findings),
        message="\n".join(one.message for one in jobs if one.message),
        warnings=outcome.warnings,
        warnings_left_out=outcome.summary.get("warnings_left_out", 0),
    )
    write_atomic(outcome.folder / REPORT, dump(report.model_dump(mode="json")))
    if report.complete and report.exit_status in (0, 1) and not _needed(asked.staged, report):
        remove_staged(asked.staged)
    return report


def told_before(asked: ScoreAsked, folder: Path) -> AuditReport | None:
    """The report of the audit in `folder` when it has come to its end; None when there is more to score."""
    if asked.staged is None or staged_at(asked.staged):
        return None
    try:
        return AuditReport.model_validate_json(read_below(folder, REPORT, RECORD_BYTES))
    except (Unread, ValidationError):
        return None


def _needed(place: Path, report: AuditReport) -> bool:
    return any(f"/{place.name}/" in one.command for one in report.findings)


def _status(jobs: list[JobOutcome], findings: tuple[AuditFinding, ...]) -> int:
    for one in jobs:
        if one.exit_status in (_INTERRUPTED, _UNABLE):
            return one.exit_status
    if any(one.status != "complete" for one in jobs) or any(one.level == "error" for one in findings):
        return 3
    return 1 if any(one.level == "defect" for one in findings) else 0
