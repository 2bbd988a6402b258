"""What a verdict says of itself: status, score and checks against each other."""

from __future__ import annotations

import pytest

from scorehost.model.verdicts import contradiction

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
