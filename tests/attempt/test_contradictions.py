"""A verdict that contradicts its own score or checks is told, and stays what it is."""

from __future__ import annotations

from pathlib import Path

from scorehost.attempt.binding import bind
from scorehost.spec.task import Output

UNIT = Output(score_range=(0.0, 1.0))


def test_a_verdict_that_contradicts_itself_is_bound_as_it_was_returned_with_a_warning():
    value = {"status": "PASS", "score": 0, "checks": [{"id": "c", "status": "FAIL"}]}
    verdict = bind(value, UNIT, task=Path("/nowhere"))
    assert (verdict.status, verdict.score) == ("PASS", 0.0)
    assert verdict.warnings == ("PASS with the worst score there is (0); PASS though its only check failed",)


def test_a_score_that_was_not_given_contradicts_nothing():
    for status in ("PASS", "FAIL"):
        assert bind({"status": status}, UNIT, task=Path("/nowhere")).warnings == ()
