"""Declared metrics in both jobs, over the pairs in which both have a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.jobs.statistics import aggregated
from scorehost.model.comparison import MetricComparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.compare.pairs import Pair
    from scorehost.runs.reading import ReadJob


def compared_metrics(a: ReadJob, b: ReadJob, pairs: Sequence[Pair]) -> tuple[MetricComparison, ...]:
    """Each metric that a task declares in both jobs, over the pairs that count in means."""
    owners: dict[tuple[str, str, str], set[str]] = {}
    for task_id in {pair.key.task_id for pair in pairs} & a.record.tasks.keys() & b.record.tasks.keys():
        theirs = {one.id for one in b.record.tasks[task_id].metrics}
        for one in a.record.tasks[task_id].metrics:
            if one.id in theirs:
                owners.setdefault((one.id, one.direction, one.aggregate), set()).add(task_id)
    return tuple(
        _metric(*how, [pair for pair in pairs if pair.key.task_id in own])
        for how, own in sorted(owners.items())
    )


def _metric(name: str, direction: str, aggregate: str, pairs: Sequence[Pair]) -> MetricComparison:
    both = [
        (pair.scored_a.metrics[name], pair.scored_b.metrics[name])
        for pair in pairs
        if pair.counts and name in pair.scored_a.metrics and name in pair.scored_b.metrics
    ]
    ours = aggregated([one for one, _ in both], aggregate)
    theirs = aggregated([one for _, one in both], aggregate)
    return MetricComparison.model_validate(
        {
            "id": name,
            "direction": direction,
            "aggregate": aggregate,
            "n": len(both),
            "left_out": len(pairs) - len(both),
            "value_a": ours,
            "value_b": theirs,
            "difference": None if ours is None or theirs is None else theirs - ours,
        }
    )
