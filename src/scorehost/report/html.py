"""A job as one HTML file that loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from scorehost.report import charts, rows
from scorehost.report.html_text import escape
from scorehost.runs.reason import one_line
from scorehost.runs.warned import cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scorehost.report.content import Report, ReportedAttempt

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #8884; padding: .2rem .7rem; text-align: left; vertical-align: top; }
td.right, th.right { text-align: right; }
table { display: block; overflow-x: auto; }
td:not(:last-child) { white-space: nowrap; }
td:last-child:not(.right) { overflow-wrap: anywhere; min-width: 12rem; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; }
.PASS { color: #2e7d32; } .FAIL { color: #c77700; } .ERROR { color: #d0443b; }
.status { font-weight: 600; }
svg { max-width: 100%; height: auto; } svg text { fill: currentColor; font-size: 13px; }
svg .bounds { stroke: currentColor; stroke-width: 1.5; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
.warning { border-left: 4px solid #d0443b; padding: .3rem .8rem; }
"""


def html_report(report: Report) -> bytes:
    """UTF-8 HTML. Its policy lets in its own style by hash and nothing else; all text is escaped."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = escape(report.name or report.job_id)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="referrer" content="no-referrer">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        *_facts(report),
        *_figures(report),
        *_warnings(report),
        "<h2>Attempts</h2>",
        *_attempts(report),
        "</body>",
        "</html>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _facts(report: Report) -> list[str]:
    lines = ["<table>"]
    for name, value in rows.facts(report):
        lines.append(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>')
    lines.append("</table>")
    if not report.sound:
        lines.append(f'<p class="warning">This is no whole job: {escape(report.status)}.</p>')
    if report.private:
        lines.append('<p class="warning">With private checks: this file may hold gold.</p>')
    return lines


def _figures(report: Report) -> list[str]:
    summary = report.summary
    if summary is None:
        return [f"<p>{escape(report.without_summary)}</p>"]
    lines: list[str] = []
    for title, groups in (
        ("submission", summary.submissions),
        ("task", summary.tasks),
        ("tag", summary.tags),
    ):
        if not groups:
            continue
        lines.append(f"<h2>By {title}</h2>")
        if title == "submission":
            lines.append(charts.verdict_chart(groups))
        lines.append(charts.mean_chart(groups, f"Mean score by {title}, with bounds"))
        lines += _table((title, *rows.GROUP_HEAD), rows.group_rows(groups))
    if told := rows.direction_rule(summary):
        lines.append(f"<p>{escape(told)}</p>")
    if summary.metrics:
        lines += ["<h2>Metrics</h2>", *_table(rows.METRIC_HEAD, rows.metric_rows(summary))]
    if summary.errors:
        lines += ["<h2>Errors</h2>", *_table(rows.ERROR_HEAD, rows.error_rows(summary))]
        lines.append(f"<p>{escape(rows.error_rule(summary))}</p>")
    return lines


def _warnings(report: Report) -> list[str]:
    told = rows.warning_rows(report.warned)
    return ["<h2>Warnings</h2>", *_table(rows.WARNING_HEAD, told)] if told else []


def _attempts(report: Report) -> Iterable[str]:
    extra = [_said(one) + _checks(one) for one in report.attempts]
    return _table(rows.ATTEMPT_HEAD, rows.attempt_rows(report), extra=extra)


def _said(one: ReportedAttempt) -> str:
    return "".join(f"<div>warning: {escape(cut(text))}</div>" for text in one.warnings)


def _checks(one: ReportedAttempt) -> str:
    if not one.checks:
        return ""
    items = "".join(f"<li>{_check(row)}</li>" for row in one.checks)
    count = f"{len(one.checks)} check" + ("s" if len(one.checks) > 1 else "")
    return f"<details><summary>{count}</summary><ul>{items}</ul></details>"


def _check(row: Mapping[str, object]) -> str:
    status = str(row.get("status", ""))
    name = status if status in charts.COLOURS else ""
    text = " - ".join(str(row[key]) for key in ("title", "message") if row.get(key))
    shown = one_line(f"{row.get('id', '')}{': ' if text else ''}{text}")
    return f'<span class="status {name}">{escape(status)}</span> {escape(shown)}'


def _table(
    head: Sequence[str], body: Iterable[Sequence[str]], *, extra: Sequence[str] | None = None
) -> list[str]:
    """A table; `extra` is HTML that follows the last cell of each row."""
    lines = ["<table>", "<thead><tr>"]
    lines += [f'<th scope="col"{_side(name)}>{escape(name)}</th>' for name in head]
    lines.append("</tr></thead>")
    for number, row in enumerate(body):
        more = "" if extra is None else extra[number]
        cells = [_cell(name, value) for name, value in zip(head, row, strict=True)]
        cells[-1] = cells[-1].removesuffix("</td>") + more + "</td>"
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return [*lines, "</table>"]


def _cell(name: str, value: str) -> str:
    if name == "status" and value in charts.COLOURS:
        return f'<td class="status {value}">{value}</td>'
    return f"<td{_side(name)}>{escape(value)}</td>"


def _side(name: str) -> str:
    return ' class="right"' if name in rows.RIGHT else ""
