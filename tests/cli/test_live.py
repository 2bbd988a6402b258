"""The live display counts what happens and names what runs."""

from __future__ import annotations

import io

from rich.console import Console
from rows import row

from scorehost.cli.live import LiveDisplay
from scorehost.jobs.outcome import JobEvent
from scorehost.model.ids import AttemptKey


def key(number):
    return AttemptKey(task_id=f"t{number}", submission="alice")


def drawn(events):
    """What the display would draw now, as text."""
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    display = LiveDisplay(console=console)
    for event in events:
        display(event)
    page = Console(file=io.StringIO(), width=100)
    page.print(display._render())
    return page.file.getvalue(), console.file.getvalue()


def test_it_shows_done_of_planned_the_counts_and_each_running_attempt_with_its_phase():
    page, _ = drawn(
        [
            JobEvent("job_started", fields={"planned": 4, "done": 1, "folder": "runs/j"}),
            JobEvent("attempt_started", key(1)),
            JobEvent("attempt_started", key(2)),
            JobEvent("phase", key(2), {"phase": "evaluate"}),
            JobEvent("attempt_finished", key(1), {"row": row("t1", "FAIL", reason="exact")}),
        ]
    )
    assert "2/4" in page
    assert "PASS 0  FAIL 1  ERROR 0" in page
    assert "t2/alice/1.1  evaluate  0 s" in page
    assert "t1/alice" not in page


def test_what_did_not_pass_stays_above_as_a_line_without_control_characters():
    _, above = drawn(
        [JobEvent("attempt_finished", key(1), {"row": row("t1", "FAIL", reason="a\x1b]0;title\x07")})]
    )
    assert "a\\x1b]0;title\\x07" in above


def test_many_running_attempts_do_not_push_the_counts_off_the_screen():
    page, _ = drawn([JobEvent("attempt_started", key(number)) for number in range(40)])
    assert len(page.splitlines()) < 20
    assert "and 28 more" in page
