"""The end of an audit: everything that was found, and what it comes to."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.attempt.atomic import write_atomic
from scorehost.errors import UsageError
from scorehost.jobs.audit.judging import judge
from scorehost.jobs.audit.staging import read_kit
from scorehost.jobs.folder import JobFolder
from scorehost.jobs.reading import read_job
from scorehost.jobs.select import selected_tasks
from scorehost.model.audit import AuditReport, HandIn
from scorehost.model.json import dump

if TYPE_CHECKING:
    from scorehost.jobs.options import RunOptions
    from scorehost.jobs.outcome import JobOutcome
    from scorehost.model.audit import AuditFinding
    from scorehost.spec.dataset import Dataset

REPORT = "audit.json"
_INTERRUPTED = 130
_UNABLE = 2


def report_of(
    outcome: JobOutcome,
    asked: RunOptions,
    dataset: Dataset,
    *,
    seconds: float,
    moved: JobOutcome | None = None,
) -> AuditReport:
    """Reads the audit's job back, judges it, and writes audit.json beside its summary.json.

    `moved` is the job in which the clock was ahead, where there was need of one.
    """
    if asked.staged is None:
        raise UsageError(f"{outcome.job_id} is no audit.", hint="Start one with `scorehost audit`.")
    job = read_job(JobFolder(outcome.folder))
    kit = read_kit(asked.staged)
    tasks = {task.task_id: task for task in selected_tasks(asked, dataset)}
    ahead = () if moved is None else read_job(JobFolder(moved.folder)).attempts
    found = judge(tasks, job, kit, _Commands(asked, dataset), ahead=ahead)
    report = AuditReport(
        dataset=str(dataset.root),
        job_id=outcome.job_id,
        folder=str(outcome.folder),
        attacks=kit.attacks,
        tasks=len(tasks),
        attempts=len(job.attempts),
        seconds=round(seconds, 1),
        repeats=asked.repeat,
        mutants=sum(one.role == "mutant" for one in kit.hand_ins),
        survivors=found.survivors,
        findings=found.findings,
        passed=found.passed,
        unsound=found.unsound,
        complete=outcome.status == "complete",
        exit_status=_status(outcome, found.findings),
        message=outcome.message,
    )
    write_atomic(outcome.folder / REPORT, dump(report.model_dump(mode="json")))
    return report


def _status(outcome: JobOutcome, findings: tuple[AuditFinding, ...]) -> int:
    if outcome.exit_status in (_INTERRUPTED, _UNABLE):
        return outcome.exit_status
    if outcome.status != "complete" or any(one.level == "error" for one in findings):
        return 3
    return 1 if any(one.level == "defect" for one in findings) else 0


class _Commands:
    """The command that scores a hand-in of the audit once more, by itself."""

    def __init__(self, asked: RunOptions, dataset: Dataset) -> None:
        self._asked, self._dataset = asked, dataset

    def __call__(self, hand_in: HandIn) -> str:
        task = self._dataset.tasks[hand_in.task_id]
        word = hand_in.name
        if hand_in.role == "wrong":
            word = "wrong:" + hand_in.name.removeprefix("wrong-")
        elif hand_in.role in ("mutant", "attack") and self._asked.staged is not None:
            word = _near(self._asked.staged / hand_in.name / hand_in.task_id)
        if self._asked.gold is None and self._asked.profiles is None:
            return shlex.join(["scorehost", "score", _near(task.folder), word])
        # `score` has no private gold and no other profiles.
        named = f"{hand_in.name}={word}" if hand_in.role in ("mutant", "attack") else word
        words = [
            "scorehost",
            "run",
            _near(self._dataset.root),
            "--task",
            hand_in.task_id,
            "--submission",
            named,
        ]
        if self._asked.gold is not None:
            words += ["--gold", _near(self._asked.gold)]
        if self._asked.profiles is not None:
            words += ["--profiles", _near(self._asked.profiles)]
        return shlex.join(words)


def _near(path: Path) -> str:
    """A path as one types it here: relative when it lies below the working directory."""
    text = os.path.relpath(path)
    return str(path.absolute()) if text.startswith("..") else text
