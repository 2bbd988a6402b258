"""Which way a score is better: the one place that knows, for means, bounds, ranks, comparisons and audits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Direction = Literal["maximize", "minimize"]
GroupDirection = Literal["maximize", "minimize", "mixed"]
Range = tuple[float, float]


def better(score: float, than: float, direction: Direction = "maximize") -> bool:
    """Whether `score` is strictly better than another."""
    return score > than if direction == "maximize" else score < than


def worst_end(direction: Direction, ends: Range) -> float:
    """The end of a range that nobody wants: what an ERROR counts as that must not be a gain."""
    return ends[0] if direction == "maximize" else ends[1]


def best_end(direction: Direction, ends: Range) -> float:
    """The other end."""
    return ends[1] if direction == "maximize" else ends[0]


def worst_of(direction: Direction, scores: Iterable[float]) -> float:
    """The worst of several scores."""
    return min(scores) if direction == "maximize" else max(scores)


def common(directions: Iterable[Direction]) -> GroupDirection:
    """The direction of several tasks together; `mixed`: they have no mean in common."""
    found = set(directions)
    if len(found) > 1:
        return "mixed"
    return found.pop() if found else "maximize"
