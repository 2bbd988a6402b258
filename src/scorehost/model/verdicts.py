"""What a score is worth, and whether status, score and checks of one verdict say the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Direction = Literal["maximize", "minimize"]
Range = tuple[float, float]


def better(score: float, than: float, direction: Direction = "maximize") -> bool:
    """Whether a score is really better than another one."""
    return score > than if direction == "maximize" else score < than


def ends(score_range: Range | None, direction: Direction = "maximize") -> Range | None:
    """The worst and the best score of a range; None where it is open."""
    if score_range is None:
        return None
    low, high = min(score_range), max(score_range)
    return (low, high) if direction == "maximize" else (high, low)


def contradiction(
    status: str,
    score: float | None,
    score_range: Range | None,
    checks: Iterable[str] = (),
    direction: Direction = "maximize",
) -> str:
    """What in a verdict contradicts its status, in words; "" when nothing does, and for what is no verdict.

    `checks`: the statuses of its rows; those that were skipped say nothing.
    """
    told = [one for one in checks if one != "SKIP"]
    found = []
    bounds = ends(score_range, direction)
    if bounds is not None and score is not None and bounds[0] != bounds[1]:
        worst, best = bounds
        if status == "PASS" and score == worst:
            found.append(f"PASS with the worst score there is ({score:g})")
        if status == "FAIL" and score == best:
            found.append(f"FAIL with the best score there is ({score:g})")
    if status == "PASS" and told and all(one == "FAIL" for one in told):
        found.append(
            "PASS though its only check failed" if len(told) == 1 else "PASS though every check failed"
        )
    return "; ".join(found)
