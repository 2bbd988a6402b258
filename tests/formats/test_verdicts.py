"""What a verdict says of itself: status, score and checks against each other."""

from __future__ import annotations

import pytest

from scorehost.model.verdicts import better, contradiction, ends

UNIT = (0.0, 1.0)


@pytest.mark.parametrize(
    ("status", "score", "bounds", "checks", "direction", "words"),
    [
        ("PASS", 1.0, UNIT, ["PASS"], "maximize", ""),
        ("PASS", 0.01, UNIT, ["PASS", "FAIL"], "maximize", ""),
        ("PASS", 0.0, UNIT, [], "maximize", "PASS with the worst score there is (0)"),
        ("FAIL", 1.0, UNIT, [], "maximize", "FAIL with the best score there is (1)"),
        ("FAIL", 0.99, UNIT, [], "maximize", ""),
        ("PASS", 0.0, UNIT, [], "minimize", ""),
        ("PASS", 1.0, UNIT, [], "minimize", "PASS with the worst score there is (1)"),
        ("FAIL", 0.0, UNIT, [], "minimize", "FAIL with the best score there is (0)"),
        ("PASS", 0.0, None, [], "maximize", ""),
        ("PASS", -3.0, (-3.0, 5.0), [], "maximize", "PASS with the worst score there is (-3)"),
        ("PASS", 0.0, (0.0, 0.0), [], "maximize", ""),
        ("PASS", 1.0, UNIT, ["FAIL", "FAIL", "SKIP"], "maximize", "PASS though every check failed"),
        ("PASS", 1.0, UNIT, ["FAIL"], "maximize", "PASS though its only check failed"),
        ("PASS", 1.0, UNIT, ["SKIP"], "maximize", ""),
        ("FAIL", 0.0, UNIT, ["PASS"], "maximize", ""),
        ("ERROR", None, UNIT, ["FAIL"], "maximize", ""),
        (
            "PASS",
            0.0,
            UNIT,
            ["FAIL"],
            "maximize",
            "PASS with the worst score there is (0); PASS though its only check failed",
        ),
    ],
)
def test_a_verdict_that_contradicts_its_score_or_its_checks_is_told(
    *, status, score, bounds, checks, direction, words
):
    assert contradiction(status, score, bounds, checks, direction) == words


def test_better_and_the_ends_of_a_range_follow_the_direction():
    assert (better(2, 1), better(1, 1), better(1, 2)) == (True, False, False)
    assert (better(1, 2, "minimize"), better(2, 2, "minimize")) == (True, False)
    assert (ends((0.0, 5.0)), ends((0.0, 5.0), "minimize"), ends(None)) == ((0.0, 5.0), (5.0, 0.0), None)
