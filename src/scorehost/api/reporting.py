"""A finished job as a file for others, and the logs of one attempt; no engine is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from scorehost.report.content import report_content
from scorehost.report.csv_table import csv_report
from scorehost.report.document import json_report
from scorehost.report.html import html_report
from scorehost.report.junit import junit_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.attempt_logs import AttemptLog, Wanted, find_logs
from scorehost.runs.folder import find_job
from scorehost.runs.reading import read_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from scorehost.report.content import Report

ReportFormat = Literal["junit", "json", "md", "csv", "html"]
_WRITERS: dict[str, Callable[[Report], bytes]] = {
    "junit": junit_report,
    "json": json_report,
    "md": markdown_report,
    "csv": csv_report,
    "html": html_report,
}
assert set(_WRITERS) == set(get_args(ReportFormat))  # noqa: S101 - one list, said twice for type checkers


def report(job: str, kind: ReportFormat, *, out: Path = Path("runs"), private: bool = False) -> bytes:
    """The job (an id, a unique beginning of one, a folder, or `latest` below `out`) as UTF-8 text.

    `private` lets in the free text of private checks and every metric. Raises UsageError.
    """
    return _WRITERS[kind](report_content(read_job(find_job(out, job)), private=private))


def logs(job: str, wanted: Wanted, *, out: Path = Path("runs")) -> tuple[AttemptLog, ...]:
    """The logs of one attempt of `job`: the evaluator's first, then stdout and stderr of each exec.

    They are as the containers wrote them, so hostile to a terminal, and may hold gold. Raises UsageError when
    not exactly one attempt is meant.
    """
    return find_logs(read_job(find_job(out, job)), wanted)[1]
