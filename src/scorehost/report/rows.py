"""The tables of a report as plain cells, which Markdown and HTML share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.report.numbers import figure, span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorehost.model.summary import Group, Summary, Warned, WarningsTold
    from scorehost.report.content import Report, ReportedAttempt

GROUP_HEAD = ("done", "PASS", "FAIL", "ERROR", "mean", "n", "bounds", "pass@1", "agreement")
ATTEMPT_HEAD = ("task", "submission", "sample", "status", "score", "seconds", "reason")
METRIC_HEAD = ("submission", "metric", "how", "value", "n", "left out")
WARNING_HEAD = ("count", "warning", "attempts")
EVERY = "(all)"
ERROR_HEAD = ("kind", "blame", "count", "as the worst score")
DAMAGED = 50  # damaged attempts that are named
RIGHT = frozenset(
    {
        "done",
        "PASS",
        "FAIL",
        "ERROR",
        "mean",
        "n",
        "score",
        "seconds",
        "value",
        "count",
        "as the worst score",
        "pass@1",
        "agreement",
    }
)


def facts(report: Report) -> list[tuple[str, str]]:
    """What job it was, as names and values."""
    found = [
        ("job", report.job_id),
        ("name", report.name or ""),
        ("dataset", f"{report.dataset_id} {report.dataset_version}"),
        ("status", report.status),
        ("attempts", f"{len(report.attempts)} of {report.planned}"),
        ("scored again from", report.parent or ""),
        ("begun", report.created_at),
        ("scorehost", report.scorehost),
        ("message", report.message),
    ]
    found += [("files", text) for text in report.faults]
    isolation = None if report.summary is None else report.summary.adapter_isolation
    if isolation is not None:
        found.append(
            ("adapters ran as", "this user (adapter_isolation: none)" if isolation == "none" else isolation)
        )
    found.append(("not shown", report.kept_back))
    found += [("damaged, left out", text) for text in report.damaged[:DAMAGED]]
    if len(report.damaged) > DAMAGED:
        found.append(("damaged, left out", f"{len(report.damaged) - DAMAGED} more; --format json has all"))
    return [(name, value) for name, value in found if value]


def group_rows(groups: Mapping[str, Group]) -> list[tuple[str, ...]]:
    """One line for each task, submission or tag: its name, then `GROUP_HEAD`."""
    return [(name, *_group(group)) for name, group in groups.items()]


def _group(group: Group) -> tuple[str, ...]:
    bounds = group.bounds
    open_range = group.done > 0 and bounds.lower is None
    return (
        f"{group.done}/{group.planned}",
        str(group.counts.PASS),
        str(group.counts.FAIL),
        str(group.counts.ERROR),
        figure(group.mean_score),
        str(group.n),
        "both directions"
        if group.direction == "mixed"
        else "open range"
        if open_range
        else span(bounds.lower, bounds.upper),
        figure(group.pass_at_k.get("1")),
        figure(group.agreement),
    )


def metric_rows(summary: Summary) -> list[tuple[str, ...]]:
    """The declared metrics of each submission, then over all where there are several."""
    rows = [row for name, group in summary.submissions.items() for row in _metrics(name, group)]
    return rows if len(summary.submissions) == 1 else rows + _metrics(EVERY, summary)


def _metrics(name: str, group: Group) -> list[tuple[str, ...]]:
    return [
        (
            name,
            one.id,
            f"{one.aggregate}, {one.direction}",
            figure(one.value),
            str(one.n),
            left_out(one.left_out),
        )
        for one in group.metrics
    ]


def left_out(kinds: Mapping[str, int]) -> str:
    """`2 missing, 1 text`; "" for none."""
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def warning_rows(told: WarningsTold) -> list[tuple[str, ...]]:
    """Each warning once, with how many attempts say it and the first of them."""
    rows: list[tuple[str, ...]] = [
        (str(one.count) if one.attempts else "", one.text, _first(one)) for one in told.warnings
    ]
    if told.warnings_left_out:
        rows.append(
            (str(told.warnings_left_out), "further warnings, which are in result.json of attempts", "")
        )
    return rows


def _first(one: Warned) -> str:
    more = one.count - len(one.attempts)
    return ", ".join(one.attempts) + (f" and {more} more" if one.attempts and more else "")


def error_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Kinds of ERROR, the most frequent first."""
    return [
        (one.kind, one.blame, str(one.count), "" if one.as_lowest is None else str(one.as_lowest))
        for one in summary.errors
    ]


def direction_rule(summary: Summary) -> str:
    """How scores are to be read, where that is not the usual way; "" where it is."""
    told = []
    if summary.scored:
        told.append(f"{summary.scored} attempts have a score and no verdict (SCORED).")
    if summary.direction == "minimize":
        told.append("Scores are minimised: less is better, and the upper bound is the worse.")
    if summary.direction == "mixed":
        told.append("Some scores are maximised and some minimised, so there is no mean over all tasks.")
    return " ".join(told)


def error_rule(summary: Summary) -> str:
    """How ERRORs stand in the mean; "" when there is none."""
    if not summary.errors:
        return ""
    number, lowest, out = summary.errors_provoked, summary.errors_as_lowest, summary.errors_left_out
    provoked = f" ({number} by calls of agents that the work can have made fail)" if number else ""
    return (
        f"{lowest} {'counts' if lowest == 1 else 'count'} as the {_end(summary)} score{provoked}, "
        f"{out} {'is' if out == 1 else 'are'} left out of the mean; "
        f"bounds take every ERROR once as the lowest and once as the highest score."
    )


def _end(summary: Summary) -> str:
    return {"maximize": "lowest", "minimize": "highest"}.get(summary.direction, "worst")


def attempt_rows(report: Report) -> list[tuple[str, ...]]:
    """Each attempt with its reason in a line."""
    return [
        (
            one.key.task_id,
            one.key.submission,
            f"{one.key.sample}.{one.key.repeat}",
            one.status,
            "" if one.score is None else figure(one.score),
            f"{one.seconds:.1f}",
            _reason(one),
        )
        for one in report.attempts
    ]


def _reason(one: ReportedAttempt) -> str:
    parts = [one.reason] if one.reason else []
    if one.warnings:
        parts.append("(1 warning)" if len(one.warnings) == 1 else f"({len(one.warnings)} warnings)")
    if one.carried_from:
        parts.append(f"(carried over from {one.carried_from})")
    return " ".join(parts)
