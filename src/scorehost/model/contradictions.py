"""Where a verdict contradicts its own score or checks: told wherever it is found, and no verdict changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from scorehost.model.check import CheckStatus


def contradictions(
    status: Literal["PASS", "FAIL"],
    score: float,
    score_range: tuple[float, float] | None,
    checks: Iterable[CheckStatus],
) -> tuple[str, ...]:
    """What does not fit together, a sentence each. `checks` are the statuses of all rows.

    An open range has no ends, so that no score contradicts a verdict there.
    """
    found = []
    if score_range is not None:
        low, high = score_range
        if status == "PASS" and score == low:
            found.append(f"the verdict is PASS, but its score {score:g} is the lowest of the range")
        if status == "FAIL" and score == high:
            found.append(f"the verdict is FAIL, but its score {score:g} is the highest of the range")
    seen = set(checks)
    if status == "PASS" and "FAIL" in seen and "PASS" not in seen:
        found.append("the verdict is PASS, but no check is PASS and at least one is FAIL")
    return tuple(found)
