"""Rows and outcomes made by hand, for tests of what is shown of them."""

from __future__ import annotations

from pathlib import Path

from scorehost.jobs.outcome import JobOutcome, Row
from scorehost.model.failure import Phase, failure
from scorehost.model.ids import AttemptKey


def row(
    task="t1", status="PASS", *, submission="alice", sample=1, repeat=1, score=None, reason="", error=None
):
    points = {"PASS": 1.0, "FAIL": 0.0, "ERROR": None}[status] if score is None else score
    if status == "ERROR" and error is None:
        error = failure(Phase.EVALUATE, "evaluator_timeout", "evaluate() did not return within 1 s")
    key = AttemptKey(task_id=task, submission=submission, sample=sample, repeat=repeat)
    return Row(key=key, status=status, score=points, seconds=1.25, reason=reason, error=error)


def outcome(rows, *, exit_status=0, status="complete", summary=None, message=""):
    return JobOutcome(
        job_id="20261130-074512-7f3a",
        folder=Path("runs/20261130-074512-7f3a"),
        status=status,
        summary=summary or {},
        rows=tuple(rows),
        root_hash="sha256:" + "ab" * 32,
        exit_status=exit_status,
        message=message,
    )
