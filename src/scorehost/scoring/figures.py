"""What a score job adds to summary.json: who comes first, and whether scoring was isolated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.model.direction import worst_end
from scorehost.model.summary import Group, KindFigures, Rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.attempt.work import Work
    from scorehost.model.order import Order


class ScoreFigures(KindFigures):
    """The part of a score job."""

    ranking: tuple[Rank, ...]
    shared_host: bool


def score_figures(orders: Sequence[Order[Work]], submissions: Mapping[str, Group]) -> ScoreFigures:
    """Its part of summary.json; `submissions` are their figures."""
    tasks: dict[str, set[str]] = {}
    for order in orders:
        tasks.setdefault(order.key.submission, set()).add(order.key.task_id)
    return ScoreFigures(
        ranking=_ranking(submissions, {name: len(own) for name, own in tasks.items()}),
        shared_host=any(order.work.shared_host for order in orders),
    )


def _ranking(groups: Mapping[str, Group], tasks: Mapping[str, int]) -> tuple[Rank, ...]:
    """By the worse bound, best first; equal scores share a rank; a submission without one comes last."""

    def score(group: Group) -> float | None:
        if group.direction == "mixed":
            return None
        ends = group.bounds.lower, group.bounds.upper
        if ends[0] is not None and ends[1] is not None:
            return worst_end(group.direction, (ends[0], ends[1]))
        return group.mean_score if group.errors_left_out == 0 else None

    def place_of(name: str) -> tuple[bool, float, str]:
        known = scores[name] or 0.0
        return scores[name] is None, known if groups[name].direction == "minimize" else -known, name

    scores = {name: score(group) for name, group in groups.items()}
    ordered = sorted(scores, key=place_of)
    ranks: list[Rank] = []
    for place, name in enumerate(ordered, start=1):
        tied = bool(ranks) and ranks[-1].score == scores[name]
        rank = ranks[-1].rank if tied else place
        ranks.append(Rank(rank=rank, submission=name, score=scores[name], tasks=tasks[name]))
    return tuple(ranks)
