"""A job as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.report import rows
from scorehost.report.markdown_text import plain, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scorehost.report.content import Report

MOST = 60_000  # bytes: a comment of a pull request takes 65,536
# Of a report that would be longer, in all fewer than MOST:
GROUPS = 9_000  # bytes of the tables by submission, by task and by tag, each
METRICS = 5_000  # bytes of that of metrics
ERRORS = 2_000  # bytes of that of kinds of ERROR
WARNINGS = 7_000  # bytes of that of warnings
ATTEMPTS = 9_000  # bytes of that of attempts


def markdown_report(report: Report) -> bytes:
    """UTF-8 Markdown with GitHub's tables; everything that others wrote is escaped.

    Where it would have more than `MOST` bytes its tables are cut, and each says how many rows it lacks;
    attempts that are not PASS come first then.
    """
    whole = _written(report, cut=False)
    return whole if len(whole) <= MOST else _written(report, cut=True)


def _written(report: Report, *, cut: bool) -> bytes:
    lines = [f"# {plain(report.name or report.job_id)}", ""]
    lines += [f"- {name}: {plain(value)}" for name, value in rows.facts(report)]

    def shown(title: str, head: Sequence[str], body: Sequence[Sequence[str]], room: int) -> list[str]:
        made = table(head, body, right=tuple(rows.RIGHT))
        return ["", f"## {title}", "", *(_fitted(report, made, room) if cut else made)] if body else []

    summary = report.summary
    if summary is None:
        lines += ["", report.without_summary]
    else:
        parts = {"submission": summary.submissions, "task": summary.tasks, "tag": summary.tags}
        for title, groups in parts.items():
            lines += shown(f"By {title}", (title, *rows.GROUP_HEAD), rows.group_rows(groups), GROUPS)
        if told := rows.direction_rule(summary):
            lines += ["", told]
        lines += shown("Metrics", rows.METRIC_HEAD, rows.metric_rows(summary), METRICS)
        lines += shown("Errors", rows.ERROR_HEAD, rows.error_rows(summary), ERRORS)
        if summary.errors:
            lines += ["", rows.error_rule(summary)]
    lines += shown("Warnings", rows.WARNING_HEAD, rows.warning_rows(report.warned), WARNINGS)
    attempts = rows.attempt_rows(report)
    if cut:
        place = rows.ATTEMPT_HEAD.index("status")
        attempts.sort(key=lambda row: row[place] == "PASS")
    lines += shown("Attempts", rows.ATTEMPT_HEAD, attempts, ATTEMPTS)
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _fitted(report: Report, made: Iterable[str], room: int) -> list[str]:
    """The lines of a table that have room, and how many rows there are besides."""
    kept: list[str] = []
    left_out = 0
    for line in made:
        room -= len(line.encode("utf-8", "backslashreplace")) + 1
        if room >= 0 and not left_out:
            kept.append(line)
        else:
            left_out += 1
    if left_out:
        kept += ["", f"… and {left_out} more rows; `scorehost report {report.job_id} --format html` has all"]
    return kept
