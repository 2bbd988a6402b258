"""Progress as plain lines, one for each event: for files, pipes, CI and dumb terminals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self, TextIO

from scorehost.cli.text import count, score_text, typed, visible

if TYPE_CHECKING:
    from scorehost.api import JobEvent, Row


_WORDS = {
    "attempt_started": "start",
    "attempt_cancelled": "stop ",
    "attempt_lost": "lost ",
    "attempt_retried": "again",
    "attempt_rerun": "again",
    "phase": "     ",
    "agents_ready": "adapters run as",
    "job_finished": "job finished",
}
_FINE = ("phase", "agent_call", "agents_ready")  # shown by --verbose only
_TELLING = (
    "text",
    "phase",
    "kind",
    "error",
    "why",
    "adapter_isolation",
)  # the fields of an event that say something, the best first


def finished_line(row: Row) -> str:
    """One attempt's end in a line: status, name, score, seconds, and the reason of a FAIL or an ERROR."""
    reason = "" if row.status in ("PASS", "SCORED") or not row.reason else f": {row.reason}"
    score = "" if row.score is None else f" score {score_text(row.score)}"
    return visible(f"{row.status:<5} {row.key}{score} in {row.seconds:.1f} s{reason}")


def event_line(event: JobEvent, *, verbose: bool = False) -> str | None:
    """The line of an event, without control characters; None for those that only --verbose shows."""
    if event.kind == "attempt_finished":
        return finished_line(event.fields["row"])
    if event.kind in ("attempt_found", "attempt_carried") or (event.kind in _FINE and not verbose):
        return None  # what was finished before is counted in `done` of job_started
    if event.kind == "agent_call":
        told = (str(event.fields.get(name, "")) for name in ("role", "mode", "ended"))
        return visible(f"agent {event.key} {' '.join(told)}")
    if event.kind == "job_started":
        planned, done = event.fields.get("planned", 0), event.fields.get("done", 0)
        kept = f", {done} of them done before" if done else ""
        return visible(f"job {typed(event.fields.get('folder', ''))}: {count(planned, 'attempt')}{kept}")
    said = next((str(event.fields[name]) for name in _TELLING if event.fields.get(name)), "")
    parts = [_WORDS.get(event.kind, f"{event.kind}:"), str(event.key or ""), said]
    return visible(" ".join(part for part in parts if part))


class PlainLines:
    """A `Watch` that prints; a reader that went away ends the printing, never the job."""

    def __init__(self, stream: TextIO | None = None, *, verbose: bool = False) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._verbose = verbose
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, event: JobEvent) -> None:
        """Prints the event's line."""
        line = event_line(event, verbose=self._verbose)
        if line is None or not self._open:
            return
        try:
            print(line, file=self._stream, flush=True)
        except (OSError, ValueError):
            self._open = False
