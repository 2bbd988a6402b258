"""Progress as a live display on a terminal: a bar, the counts, and what runs now in which phase."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scorehost.cli.plain import event_line, finished_line
from scorehost.cli.text import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from scorehost.api import JobEvent

_COLOURS = {"PASS": "green", "FAIL": "yellow", "SCORED": "blue", "ERROR": "red"}
_SHOWN = 12  # running attempts; more would push the counts off a small screen
_REFRESH_PER_SECOND = 4


@dataclass(slots=True)
class _Running:
    since: float
    phase: str = "prepare"


class LiveDisplay:
    """A `Watch` to be used as a context manager; lines of what did not PASS stay above the display."""

    def __init__(self, *, verbose: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._verbose = verbose
        self._planned = 0
        self._counts = dict.fromkeys(_COLOURS, 0)
        self._before = 0
        self._running: dict[str, _Running] = {}
        self._live = Live(
            get_renderable=self._render,
            console=self._console,
            refresh_per_second=_REFRESH_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._running.clear()
        self._live.stop()

    def __call__(self, event: JobEvent) -> None:
        """Takes one event in; a terminal that went away ends the display, never the job."""
        with contextlib.suppress(OSError):
            self._take(event)

    def _take(self, event: JobEvent) -> None:
        name = str(event.key)
        match event.kind:
            case "job_started":
                self._planned = int(event.fields.get("planned", 0))
                self._before = int(event.fields.get("done", 0))
                self._say(event)
            case "attempt_started":
                self._running[name] = _Running(time.monotonic())
            case "phase":
                if name in self._running:
                    self._running[name].phase = str(event.fields.get("phase", ""))
            case "attempt_finished":
                row = event.fields["row"]
                self._running.pop(name, None)
                self._counts[row.status] += 1
                if row.status not in ("PASS", "SCORED") or self._verbose:
                    self._console.print(Text(finished_line(row), style=_COLOURS[row.status]))
            case "attempt_retried" | "attempt_cancelled" | "attempt_lost":
                self._running.pop(name, None)
                self._say(event)
            case "job_finished":
                self._running.clear()
            case _:
                self._say(event)

    def _say(self, event: JobEvent) -> None:
        line = event_line(event, verbose=self._verbose)
        if line is not None:
            self._console.print(Text(line))

    def _render(self) -> RenderableType:
        done = self._before + sum(self._counts.values())
        head = Table.grid(padding=(0, 2))
        counts = Text()
        for status, number in self._counts.items():
            if status == "SCORED" and not number:
                continue  # few tasks have nothing that passes or fails
            counts.append(f"{status} {number}  ", style=_COLOURS[status] if number else "dim")
        bar = ProgressBar(total=max(self._planned, 1), completed=done, width=24)
        head.add_row(bar, Text(f"{done}/{self._planned}"), counts)
        now = time.monotonic()
        # A thread of rich refreshes while the job's thread changes the map: one copy, taken at once.
        rows = list(self._running.items())
        rows.sort(key=lambda item: item[1].since)
        table = Table.grid(padding=(0, 2))
        for name, running in rows[:_SHOWN]:
            seconds = f"{now - running.since:.0f} s"
            table.add_row(
                Text("  " + visible(name)), Text(visible(running.phase), style="dim"), Text(seconds)
            )
        more = [Text(f"  and {len(rows) - _SHOWN} more", style="dim")] if len(rows) > _SHOWN else []
        return Group(head, table, *more)
