"""A job as JUnit XML, as CI servers read it: a suite for each submission, a test case for each attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from scorehost.files.visible import visible
from scorehost.report.numbers import figure, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.report.content import Report, ReportedAttempt


BODY = 16_384  # characters of what one case tells
VALUE = 1_024  # characters of a property


def junit_report(report: Report) -> bytes:
    """UTF-8 XML. A FAIL is a `failure`, an ERROR an `error`; a job that is not whole is one `error` more.

    The layout is that of Ant's JUnit task as CI servers agree on it, with `properties` in suites and cases.
    """
    root = ET.Element("testsuites", {"name": clean(report.name or report.job_id)})
    by_submission: dict[str, list[ReportedAttempt]] = {}
    for one in report.attempts:
        by_submission.setdefault(one.key.submission, []).append(one)
    suites = [_suite(report, name, by_submission[name]) for name in sorted(by_submission)]
    if suites:  # once: what the job itself has to say, and what is not shown
        own = [f"warning: {one.text}" for one in report.warned.warnings if not one.attempts]
        _printed(suites[0], [*own, report.kept_back] if report.kept_back else own)
    if not report.sound:
        suites.append(_unsound(report))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", _seconds(sum(one.seconds for one in report.attempts)))
    root.extend(suites)
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def clean(text: str) -> str:
    r"""`text` with control and format characters, and all that XML 1.0 cannot hold, as \x1b or \u202e."""
    # What XML 1.0 leaves out (section 2.2, Char) is a control character, a surrogate or unassigned.
    return visible(text, keep="\n\t")


def _suite(report: Report, submission: str, attempts: Sequence[ReportedAttempt]) -> ET.Element:
    errors = sum(one.status == "ERROR" for one in attempts)
    suite = _counted(submission, tests=len(attempts), failures=_fails(attempts), errors=errors)
    suite.set("time", _seconds(sum(one.seconds for one in attempts)))
    suite.set("timestamp", _moment(min(one.started_at for one in attempts)))
    properties = {
        "job": report.job_id,
        "dataset": f"{report.dataset_id} {report.dataset_version}",
        "scorehost": report.scorehost,
    }
    if report.parent is not None:
        properties["parent"] = report.parent
    if report.summary is not None and report.summary.adapter_isolation is not None:
        properties["adapter_isolation"] = report.summary.adapter_isolation
    group = None if report.summary is None else report.summary.submissions.get(submission)
    if group is not None:
        properties["mean_score"] = figure(group.mean_score)
        properties["n"] = str(group.n)
        properties["bounds"] = span(group.bounds.lower, group.bounds.upper)
    _properties(suite, properties)
    suite.extend(_case(report, one) for one in attempts)
    return suite


def _case(report: Report, one: ReportedAttempt) -> ET.Element:
    case = ET.Element(
        "testcase",
        {
            "classname": clean(f"{report.dataset_id}.{one.key.submission}"),
            "name": clean(f"{one.key.task_id} {one.key.sample}.{one.key.repeat}"),
            "time": _seconds(one.seconds),
        },
    )
    properties = {} if one.score is None else {"score": repr(one.score)}
    properties |= {f"metric.{name}": str(value) for name, value in one.metrics.items()}
    if one.carried_from is not None:
        properties["carried_from"] = one.carried_from
    _properties(case, properties)
    if one.error is not None:
        error = one.error
        body = f"phase {error.phase.value}, blame {error.blame.value}\n{error.message}\n{error.hint}"
        _told(case, "error", error.kind, one.reason, body)
    elif one.status == "FAIL":
        lines = [_line(row) for row in one.checks if row.get("status") in ("FAIL", "ERROR")]
        _told(case, "failure", "FAIL", one.reason, "\n".join(lines) or one.reason)
    _printed(case, [f"warning: {text}" for text in one.warnings])
    return case


def _line(row: Mapping[str, object]) -> str:
    text = str(row.get("message") or row.get("title") or "")
    return f"{row.get('status')} {row.get('id')}" + (f": {text}" if text else "")


def _unsound(report: Report) -> ET.Element:
    """So that a CI server does not show green what is no whole job."""
    suite = _counted("scorehost", tests=1, failures=0, errors=1)
    case = ET.SubElement(
        suite, "testcase", {"classname": "scorehost", "name": "the job is complete", "time": "0"}
    )
    text = f"the job is {report.status}: {len(report.attempts)} of {report.planned} attempts"
    _told(
        case, "error", report.status, text, "\n".join((text, report.message, *report.faults, *report.damaged))
    )
    return suite


def _counted(name: str, *, tests: int, failures: int, errors: int) -> ET.Element:
    return ET.Element(
        "testsuite",
        {
            "name": clean(name),
            "tests": str(tests),
            "failures": str(failures),
            "errors": str(errors),
            "skipped": "0",
        },
    )


def _told(case: ET.Element, tag: str, kind: str, message: str, body: str) -> None:
    element = ET.SubElement(case, tag, {"type": clean(kind), "message": clean(message)})
    element.text = clean(_cut(body.strip()))


def _printed(parent: ET.Element, lines: Sequence[str]) -> None:
    """What servers show beside a case or a suite without taking it for a failure."""
    if lines:
        ET.SubElement(parent, "system-out").text = clean(_cut("\n".join(lines)))


def _cut(body: str, most: int = BODY) -> str:
    """A server keeps thousands of them: the whole text is in the job."""
    return (
        body if len(body) <= most else f"{body[:most]}\n… {len(body) - most} more characters are in the job"
    )


def _properties(parent: ET.Element, values: Mapping[str, str]) -> None:
    if not values:
        return
    holder = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(
            holder, "property", {"name": clean(_cut(name, VALUE)), "value": clean(_cut(value, VALUE))}
        )


def _fails(attempts: Sequence[ReportedAttempt]) -> int:
    return sum(one.status == "FAIL" for one in attempts)


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _moment(text: str) -> str:
    """ISO 8601 in UTC to the second without a zone, as the format has it."""
    return text.split(".", maxsplit=1)[0].removesuffix("Z")
