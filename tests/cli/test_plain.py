"""Progress where nobody watches a terminal: one plain line for each event."""

from __future__ import annotations

import io

import pytest
from rows import row

from scorehost.cli.display import is_live
from scorehost.cli.plain import PlainLines
from scorehost.jobs.outcome import JobEvent
from scorehost.model.ids import AttemptKey

KEY = AttemptKey(task_id="t1", submission="alice")

EVENTS = [
    JobEvent("job_started", fields={"planned": 3, "done": 1, "folder": "runs/j"}),
    JobEvent("attempt_started", KEY),
    JobEvent("phase", KEY, {"phase": "evaluate"}),
    JobEvent("image", fields={"text": "pulling x"}),
    JobEvent("warning", KEY, {"text": "odd\r\nname \x1b[2J"}),
    JobEvent("attempt_retried", KEY, {"kind": "engine_lost"}),
    JobEvent("attempt_cancelled", KEY, {"number": 1}),
    JobEvent("attempt_finished", KEY, {"row": row(status="FAIL", reason="first\nsecond")}),
    JobEvent("attempt_finished", KEY, {"row": row(status="ERROR", reason="evaluator_timeout: slow")}),
    JobEvent("job_finished"),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(*, verbose=False):
    stream = io.StringIO()
    with PlainLines(stream, verbose=verbose) as watch:
        for event in EVENTS:
            watch(event)
    return stream.getvalue()


def test_every_event_is_one_line_without_control_characters():
    text = printed()
    assert text.splitlines() == [
        "job runs/j: 3 attempts, 1 of them done before",
        "start t1/alice/1.1",
        "image: pulling x",
        "warning: t1/alice/1.1 odd\\x0d\\x0aname \\x1b[2J",
        "again t1/alice/1.1 engine_lost",
        "stop  t1/alice/1.1",
        "FAIL  t1/alice/1.1 score 0 in 1.2 s: first\\x0asecond",
        "ERROR t1/alice/1.1 in 1.2 s: evaluator_timeout: slow",
        "job finished",
    ]
    assert not {"\r", "\x1b"} & set(text)


def test_phases_show_only_when_asked_for():
    assert "evaluate" not in printed()
    assert "      t1/alice/1.1 evaluate" in printed(verbose=True).splitlines()


def test_a_reader_that_went_away_ends_the_lines_and_not_the_job():
    class Gone(io.StringIO):
        def write(self, _text):
            raise BrokenPipeError

    with PlainLines(Gone()) as watch:
        for event in EVENTS:
            watch(event)


@pytest.mark.parametrize(
    ("environment", "live"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "CI": "false"}, True),
        ({"TERM": "xterm", "CI": "1"}, False),
        ({"TERM": "xterm", "CI": "true", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_a_terminal_is_drawn_on_unless_it_is_dumb_or_a_ci(environment, live):
    assert is_live(Terminal(), environment) is live


def test_a_pipe_is_never_drawn_on_even_when_colour_is_forced():
    assert not is_live(io.StringIO(), {"TERM": "xterm", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"})
