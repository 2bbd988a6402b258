"""Whether status, score and checks of one verdict say the same."""

from __future__ import annotations

from collections.abc import Iterable

from scorehost.model.direction import Direction, Range, best_end, worst_end


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
    if score_range is not None and score is not None and score_range[0] != score_range[1]:
        worst, best = worst_end(direction, score_range), best_end(direction, score_range)
        if status == "PASS" and score == worst:
            found.append(f"PASS with the worst score there is ({score:g})")
        if status == "FAIL" and score == best:
            found.append(f"FAIL with the best score there is ({score:g})")
    if status == "PASS" and told and all(one == "FAIL" for one in told):
        found.append(
            "PASS though its only check failed" if len(told) == 1 else "PASS though every check failed"
        )
    return "; ".join(found)
