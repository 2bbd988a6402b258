"""The end of an audit on stdout: findings with their commands, then what it comes to; or one JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from scorehost.cli.stdout import write
from scorehost.cli.text import count, typed, visible
from scorehost.cli.warned import told_lines
from scorehost.model.json import dump

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scorehost.api import AuditFinding, AuditReport

_SHOWN = 12  # findings of one level and task; all of them are in audit.json
_VERBS = {
    "solution-fails": "reject their own solution",
    "wrong-unexpected": "judge a wrong solution otherwise than its expect.yaml says",
    "repeats-differ": "do not agree with themselves",
    "clock-decides": "judge by the time of day",
    "full-score": "score what must not pass as high as their solution",
    "contradicts-itself": "contradict their own score or checks",
    "evaluator-raises": "raise for what is merely wrong, in place of FAIL",
    "attack-leaves-mean": "let an attack out of the mean",
}
_ONE = {  # the same of one evaluator
    "solution-fails": "rejects its own solution",
    "wrong-unexpected": "judges a wrong solution otherwise than its expect.yaml says",
    "repeats-differ": "does not agree with itself",
    "clock-decides": "judges by the time of day",
    "full-score": "scores what must not pass as high as its solution",
    "contradicts-itself": "contradicts its own score or checks",
    "evaluator-raises": "raises for what is merely wrong, in place of FAIL",
    "attack-leaves-mean": "lets an attack out of the mean",
}


def show_audit(report: AuditReport, *, as_json: bool) -> None:
    """Prints the report."""
    if as_json:
        write(dump(report.model_dump(mode="json")))
    else:
        write("\n".join([*audit_lines(report)]) + "\n")


def audit_lines(report: AuditReport) -> Iterator[str]:
    """Every line of the report; control characters come out escaped."""
    for (level, task_id), group in groupby(report.findings, key=lambda one: (one.level, one.task_id)):
        found = list(group)
        yield visible(f"{level.upper():<8} {task_id}")
        for one in found[:_SHOWN]:
            yield from _lines(one)
        if len(found) > _SHOWN:
            yield f"    … and {len(found) - _SHOWN} more in audit.json"
    if report.findings:
        yield ""
    yield from told_lines(report.warnings, report.warnings_left_out, "audit.json")
    yield from map(visible, _sums(report))
    yield visible(f"audit  {typed(report.folder)}  ({_size(report)})")


def _lines(one: AuditFinding) -> Iterator[str]:
    yield visible(f"    {one.text}")
    if one.command:
        yield visible(f"      {one.command}")


def _sums(report: AuditReport) -> Iterator[str]:
    if report.message and (report.complete or "--resume" not in report.message):
        yield report.message
    if not report.complete:
        yield f"The audit did not come to its end; `scorehost audit --resume {report.job_id}` goes on."
    if report.passed:
        to = ", ".join(f"{one.label} ({len(one.tasks)})" for one in report.passed)
        yield f"{len(report.unsound)} of {count(report.tasks, 'evaluator')} gave PASS to: {to}"
    for kind, words in _VERBS.items():
        tasks = {one.task_id for one in report.findings if one.kind == kind}
        if tasks:
            named = ", ".join(sorted(tasks)[:_SHOWN])
            of = count(report.tasks, "evaluator")
            yield f"{len(tasks)} of {of} {_ONE[kind] if len(tasks) == 1 else words}: {named}"
    if report.mutants:
        yield f"{report.survivors} of {count(report.mutants, 'mutated solution')} survived (PASS)"
    levels = [one.level for one in report.findings]
    totals = ", ".join(count(levels.count(level), level) for level in ("defect", "error", "warning"))
    sound = report.complete and not {"defect", "error"} & set(levels)
    yield ("sound: " if sound else "not sound: " if "defect" in levels else "") + totals


def _size(report: AuditReport) -> str:
    parts = [count(report.tasks, "task"), count(report.attempts, "attempt"), f"{report.seconds:.0f} s"]
    return ", ".join([*parts, "with attacks" if report.attacks else "without attacks"])
