"""A verdict that contradicts its own score or checks is told, and stays what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorehost.attempt.binding import bind
from scorehost.model.contradictions import contradictions
from scorehost.spec.task import Output

LOWEST = "the verdict is PASS, but its score {} is the lowest of the range"
HIGHEST = "the verdict is FAIL, but its score {} is the highest of the range"
CHECKS = "the verdict is PASS, but no check is PASS and at least one is FAIL"


@pytest.mark.parametrize(
    ("status", "score", "bounds", "checks", "told"),
    [
        ("PASS", 0.0, (0.0, 1.0), "", (LOWEST.format(0),)),
        ("PASS", 0.001, (0.0, 1.0), "", ()),
        ("PASS", -5.0, (-5.0, 5.0), "", (LOWEST.format(-5),)),
        ("PASS", 0.0, (-5.0, 5.0), "", ()),
        ("FAIL", 1.0, (0.0, 1.0), "", (HIGHEST.format(1),)),
        ("FAIL", 0.999, (0.0, 1.0), "", ()),
        ("FAIL", 100.0, (0.0, 100.0), "", (HIGHEST.format(100),)),
        ("PASS", 0.0, None, "", ()),
        ("FAIL", 1.0, None, "", ()),
        ("PASS", 1.0, (0.0, 1.0), "FAIL", (CHECKS,)),
        ("PASS", 1.0, (0.0, 1.0), "FAIL FAIL SKIP", (CHECKS,)),
        ("PASS", 1.0, (0.0, 1.0), "FAIL ERROR", (CHECKS,)),
        ("PASS", 1.0, (0.0, 1.0), "FAIL PASS", ()),
        ("PASS", 1.0, (0.0, 1.0), "SKIP ERROR", ()),
        ("FAIL", 0.0, (0.0, 1.0), "PASS", ()),
        ("PASS", 0.0, (0.0, 1.0), "FAIL", (LOWEST.format(0), CHECKS)),
    ],
)
def test_each_is_a_sentence(status, score, bounds, checks, told):
    assert contradictions(status, score, bounds, checks.split()) == told


def test_a_verdict_that_contradicts_itself_is_bound_as_it_was_returned_with_a_warning():
    value = {"status": "PASS", "score": 0, "checks": [{"id": "c", "status": "FAIL"}]}
    verdict = bind(value, Output(score_range=(0.0, 1.0)), task=Path("/nowhere"))
    assert (verdict.status, verdict.score) == ("PASS", 0.0)
    assert verdict.warnings == (LOWEST.format(0), CHECKS)


def test_a_score_that_was_not_given_contradicts_nothing():
    for status in ("PASS", "FAIL"):
        assert bind({"status": status}, Output(score_range=(0.0, 1.0)), task=Path("/nowhere")).warnings == ()
