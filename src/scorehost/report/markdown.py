"""A job as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.report import rows
from scorehost.report.markdown_text import plain, table

if TYPE_CHECKING:
    from scorehost.report.content import Report


def markdown_report(report: Report) -> bytes:
    """UTF-8 Markdown with GitHub's tables; everything that others wrote is escaped."""
    lines = [f"# {plain(report.name or report.job_id)}", ""]
    lines += [f"- {name}: {plain(value)}" for name, value in rows.facts(report)]
    summary = report.summary
    right = tuple(rows.RIGHT)
    if summary is None:
        lines += ["", report.without_summary]
    else:
        for title, groups in (
            ("submission", summary.submissions),
            ("task", summary.tasks),
            ("tag", summary.tags),
        ):
            if groups:
                head = (title, *rows.GROUP_HEAD)
                lines += ["", f"## By {title}", "", *table(head, rows.group_rows(groups), right=right)]
        if told := rows.direction_rule(summary):
            lines += ["", told]
        if summary.metrics:
            lines += ["", "## Metrics", "", *table(rows.METRIC_HEAD, rows.metric_rows(summary), right=right)]
        if summary.errors:
            lines += [
                "",
                "## Errors",
                "",
                *table(rows.ERROR_HEAD, rows.error_rows(summary), right=right),
            ]
            lines += ["", rows.error_rule(summary)]
    if said := rows.warning_rows(report.warned):
        lines += ["", "## Warnings", "", *table(rows.WARNING_HEAD, said, right=right)]
    lines += ["", "## Attempts", "", *table(rows.ATTEMPT_HEAD, rows.attempt_rows(report), right=right)]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
