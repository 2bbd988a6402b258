"""Progress as plain lines, one for each event: for files, pipes, CI and dumb terminals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self, TextIO

from scorehost.cli.text import count, score_text, visible

if TYPE_CHECKING:
    from scorehost.api import JobEvent, Row


def finished_line(row: Row) -> str:
    """One attempt's end in a line: status, name, score, seconds, and the reason of anything but a PASS."""
    reason = "" if row.status == "PASS" or not row.reason else f": {row.reason}"
    return visible(f"{row.status:<5} {row.key} score {score_text(row.score)} in {row.seconds:.1f} s{reason}")


def event_line(event: JobEvent, *, verbose: bool = False) -> str | None:
    """The line of an event, without control characters; None for those that only --verbose shows."""
    text = str(event.fields.get("text", ""))
    match event.kind:
        case "job_started":
            planned, done = event.fields.get("planned", 0), event.fields.get("done", 0)
            kept = f", {done} of them done before" if done else ""
            line = f"job {event.fields.get('folder', '')}: {count(planned, 'attempt')}{kept}"
        case "attempt_started":
            line = f"start {event.key}"
        case "phase":
            if not verbose:
                return None
            line = f"      {event.key} {event.fields.get('phase', '')}"
        case "attempt_finished":
            return finished_line(event.fields["row"])
        case "attempt_retried":
            line = f"again {event.key}: {event.fields.get('kind', '')}"
        case "image" | "waiting" | "warning":
            line = f"{event.kind}: {f'{event.key}: ' if event.key else ''}{text}"
        case "job_finished":
            line = "job finished"
        case other:
            line = f"{other}: {text}"
    return visible(line)


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
