"""A job as a table for a spreadsheet, one line for each attempt."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from scorehost.files.visible import visible

if TYPE_CHECKING:
    from scorehost.report.content import Report, ReportedAttempt

_HEAD = (
    *("job_id", "task_id", "submission", "sample", "repeat", "status", "score", "seconds"),
    *("reason", "error_kind", "error_phase", "error_blame", "started_at", "carried_from"),
    *("warnings", "submission_label"),
)
CELL = 32_000  # characters; a spreadsheet takes 32,767 in a cell
# What makes a spreadsheet take text for a formula, full-width forms too (OWASP, "CSV Injection").
_FORMULA = tuple("=+-@\t\r\n＝＋－＠|")  # noqa: RUF001 - these are meant


def csv_report(report: Report) -> bytes:
    """UTF-8 CSV (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe in front."""
    # Those that tasks declare have a column also where no attempt returned a number.
    returned = {name for one in report.attempts for name in one.metrics if _is_number(one.metrics[name])}
    names = sorted(returned | set(report.metrics))
    phases = sorted({phase for one in report.attempts for phase in one.timing})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    more = [*(f"seconds.{phase}" for phase in phases), *(f"metric.{name}" for name in names)]
    writer.writerow([*_HEAD, *map(text, more)])
    for one in report.attempts:
        spent = [_number(one.timing.get(phase)) for phase in phases]
        writer.writerow([*_cells(report, one), *spent, *(_number(one.metrics.get(name)) for name in names)])
    return stream.getvalue().encode("utf-8", "backslashreplace")


def text(value: str) -> str:
    """`value` as a cell that stays text, without what acts on a terminal."""
    shown = visible(value, keep="\n\t\r")
    if len(shown) > CELL:
        shown = f"{shown[:CELL]}… ({len(shown) - CELL} more characters)"
    return f"'{shown}" if shown.lstrip(" \u00a0").startswith(_FORMULA) or shown.startswith("'") else shown


def _cells(report: Report, one: ReportedAttempt) -> list[str]:
    error = one.error
    return [
        report.job_id,
        text(one.key.task_id),
        text(one.key.submission),
        str(one.key.sample),
        str(one.key.repeat),
        one.status,
        _number(one.score),
        f"{one.seconds:.3f}",
        text(one.reason),
        "" if error is None else text(error.kind),
        "" if error is None else error.phase.value,
        "" if error is None else error.blame.value,
        one.started_at,
        one.carried_from or "",
        text("; ".join(one.warnings)),
        text(report.labels.get(one.key.submission, "")),
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: object) -> str:
    # Every digit: a table is calculated with. A negative number is no formula.
    return repr(value) if _is_number(value) else ""
