"""The end of a job on stdout: table, summary, folder and root hash, or one JSON document."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from scorehost.cli.stdout import write
from scorehost.cli.summary import summary_lines
from scorehost.cli.tables import attempt_lines
from scorehost.cli.text import score_text, typed, visible
from scorehost.cli.warned import warned_of
from scorehost.model.json import dump

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.api import JobOutcome, Row

FORMAT = "scorehost.outcome/1"
_HINTS = 8
_COLOURS = {"PASS": "green", "FAIL": "yellow", "SCORED": "blue", "ERROR": "red"}


def show(outcome: JobOutcome, *, as_json: bool) -> None:
    """Prints the whole outcome; a reader that closes the pipe early is no error."""
    if as_json:
        write(dump(document(outcome)))
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = [
        *attempt_lines(outcome.rows, width=width),
        *_hints(outcome.rows),
        "",
        *summary_lines(outcome.summary),
        *_foot(outcome),
    ]
    write("\n".join(lines) + "\n")


def show_one(outcome: JobOutcome) -> None:
    """Prints the outcome of a job of one attempt: verdict, score, reason, and where it lies."""
    lines = []
    for row in outcome.rows:
        status = click.style(row.status, fg=_COLOURS[row.status]) if sys.stdout.isatty() else row.status
        score = "" if row.score is None else f"score {score_text(row.score)}  "
        lines.append(f"{status}  {score}{visible(row.reason)}".rstrip())
        if row.error is not None and row.error.hint:
            lines.append(visible(f"  {row.error.hint}"))
        said = warned_of(outcome.warnings, str(row.key))
        lines += [visible(f"  warning: {text}") for text in said]
        lines.append(visible(f"  {typed(outcome.folder / 'attempts' / row.key.folder)}"))
    if not outcome.rows:
        lines.append("not scored")
    if outcome.message:
        lines.append(visible(outcome.message, keep="\n"))
    lines += [*_why(outcome), *_go_on(outcome)]
    write("\n".join(lines) + "\n")


def document(outcome: JobOutcome) -> dict[str, Any]:
    """What --json prints: everything of the table, and summary.json as it is."""
    return {
        "format": FORMAT,
        "job_id": outcome.job_id,
        "folder": str(outcome.folder),
        "status": outcome.status,
        "exit_status": outcome.exit_status,
        "message": outcome.message,
        "root_hash": outcome.root_hash,
        "attempts": [_attempt(row) for row in outcome.rows],
        "summary": dict(outcome.summary),
    }


def _hints(rows: Iterable[Row]) -> list[str]:
    """What to do about each kind of ERROR, once."""
    hints = {row.error.kind: row.error.hint for row in rows if row.error is not None and row.error.hint}
    return [visible(f"  {kind}: {hint}") for kind, hint in list(hints.items())[:_HINTS]]


def _attempt(row: Row) -> dict[str, Any]:
    return {
        "task_id": row.key.task_id,
        "submission": row.key.submission,
        "sample": row.key.sample,
        "repeat": row.key.repeat,
        "status": row.status,
        "score": row.score,
        "seconds": round(row.seconds, 3),
        "reason": row.reason,
        "error": None if row.error is None else row.error.model_dump(mode="json"),
    }


def _go_on(outcome: JobOutcome) -> list[str]:
    """The command that scores what is left, as it can be typed here."""
    if outcome.status not in ("interrupted", "incomplete"):
        return []
    return [visible(f"go on      scorehost run --resume {shlex.quote(typed(outcome.folder))}")]


def _why(outcome: JobOutcome) -> list[str]:
    """The commands that tell more of what did not PASS: a reason alone is often no more than a check's id."""
    row = next((row for status in ("FAIL", "ERROR") for row in outcome.rows if row.status == status), None)
    if row is None:
        return []
    job, key = shlex.quote(typed(outcome.folder)), row.key
    words = ["scorehost", "logs", typed(outcome.folder), key.task_id]
    if sum(one.key.task_id == key.task_id for one in outcome.rows) > 1:
        words += ["--submission", key.submission, "--sample", str(key.sample), "--repeat", str(key.repeat)]
    lines = [f"logs       {shlex.join(words)}"]
    if row.status == "FAIL":
        lines.append(f"why        scorehost report {job} --format md --private")
    return [visible(one) for one in lines]


def _foot(outcome: JobOutcome) -> list[str]:
    lines = [
        "",
        visible(f"job        {typed(outcome.folder)}  ({outcome.status})"),
        f"root hash  {outcome.root_hash}",
        *_why(outcome),
        *_go_on(outcome),
    ]
    if outcome.message:
        lines = ["", visible(outcome.message, keep="\n"), *lines]
    return lines
