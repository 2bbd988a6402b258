"""A job as one JSON document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scorehost.files.visible import visible
from scorehost.model.json import dump
from scorehost.model.report import ReportDocument, ReportRow

if TYPE_CHECKING:
    from scorehost.report.content import Report, ReportedAttempt


def json_report(report: Report) -> bytes:
    r"""UTF-8 JSON: the job, its summary as summary.json has it, every attempt with its checks.

    Control and format characters are spelled `\u202e`: the same to a reader of JSON, harmless on a terminal.
    """
    document = ReportDocument(
        job_id=report.job_id,
        name=report.name,
        dataset_id=report.dataset_id,
        dataset_version=report.dataset_version,
        scorehost=report.scorehost,
        created_at=report.created_at,
        status=report.status,
        parent=report.parent,
        planned=report.planned,
        unfinished=report.unfinished,
        damaged=report.damaged,
        faults=report.faults,
        private=report.private,
        warnings=report.warned.warnings,
        warnings_left_out=report.warned.warnings_left_out,
        summary=report.summary,
        attempts=tuple(map(_attempt, report.attempts)),
    )
    data = dump(document.model_dump(mode="json"))
    return visible(data.decode(), keep="\n", spell=_spelled).encode()


def _spelled(char: str) -> str:
    return json.dumps(char)[1:-1]


def _attempt(one: ReportedAttempt) -> ReportRow:
    return ReportRow(
        **one.key.model_dump(),
        status=one.status,
        score=one.score,
        seconds=round(one.seconds, 3),
        timing=dict(one.timing),
        reason=one.reason,
        error=one.error,
        metrics=dict(one.metrics),
        checks=tuple(dict(row) for row in one.checks),
        carried_from=one.carried_from,
        warnings=one.warnings,
    )
