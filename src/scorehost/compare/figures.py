"""The numbers of a comparison: means over the same pairs, their difference, an interval, a test."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from scorehost.figures.interval import bootstrap_interval
from scorehost.figures.mcnemar import exact_p_value
from scorehost.jobs.statistics import mean, worst_scores
from scorehost.model.comparison import Figures, McNemar, TaskComparison
from scorehost.model.direction import common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scorehost.compare.pairs import Pair
    from scorehost.runs.reading import ReadJob
    from scorehost.runs.scored import Scored


class PairedScores:
    """Scores of pairs by the rule of the summary: an ERROR that the submission or evaluator caused counts as
    the lowest score, any other leaves its pair out. Where a task's range is open, the lowest is that of the
    pairs of both jobs together: a crash must not be better in one of them.
    """

    def __init__(self, a: ReadJob, b: ReadJob, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        every = [one for pair in pairs for one in (pair.scored_a, pair.scored_b)]
        self._worst = tuple(worst_scores(job.record.tasks, every) for job in (a, b))
        self._tasks = a.record.tasks
        self._weights = {name: task.weight for name, task in a.record.tasks.items()}

    def tasks(self) -> tuple[TaskComparison, ...]:
        """Each task over its pairs."""
        by_task: dict[str, list[Pair]] = defaultdict(list)
        for pair in self._pairs:
            by_task[pair.key.task_id].append(pair)
        return tuple(self._task(task_id, by_task[task_id]) for task_id in sorted(by_task))

    def figures(self, tasks: Sequence[TaskComparison]) -> Figures:
        """All tasks together; `tasks` are what `tasks()` gave."""
        counting = [pair for pair in self._pairs if pair.counts]
        direction = common(self._tasks[task.task_id].direction for task in tasks)
        known = [
            (task.mean_a, task.mean_b, task.difference, self._weights.get(task.task_id, 1.0))
            for task in tasks
            if task.mean_a is not None and task.mean_b is not None and task.difference is not None
            if direction != "mixed"
        ]
        weights = [weight for *_, weight in known]
        differences = [difference for *_, difference, _weight in known]
        return Figures(
            n_pairs=len(counting),
            n_tasks=len(known),
            direction=direction,
            left_out=len(self._pairs) - len(counting),
            errors_as_lowest_a=sum(pair.scored_a.counts_as_lowest for pair in counting),
            errors_as_lowest_b=sum(pair.scored_b.counts_as_lowest for pair in counting),
            mean_a=_weighted([ours for ours, *_ in known], weights),
            mean_b=_weighted([theirs for _, theirs, *_ in known], weights),
            difference=_weighted(differences, weights),
            interval=bootstrap_interval(differences, weights),
            mcnemar=_mcnemar([pair for pair in counting if self._judged(pair)]),
        )

    def _judged(self, pair: Pair) -> bool:
        return self._tasks[pair.key.task_id].verdict != "none"

    def _task(self, task_id: str, pairs: Sequence[Pair]) -> TaskComparison:
        counting = [pair for pair in pairs if pair.counts]
        return TaskComparison(
            task_id=task_id,
            n=len(counting),
            left_out=len(pairs) - len(counting),
            passed_a=sum(pair.scored_a.status == "PASS" for pair in counting),
            passed_b=sum(pair.scored_b.status == "PASS" for pair in counting),
            mean_a=_nested(counting, lambda pair: self._score(pair.scored_a, 0)),
            mean_b=_nested(counting, lambda pair: self._score(pair.scored_b, 1)),
            difference=_nested(
                counting, lambda pair: self._score(pair.scored_b, 1) - self._score(pair.scored_a, 0)
            ),
        )

    def _score(self, one: Scored, side: int) -> float:
        return self._worst[side].get(one.key.task_id, 0.0) if one.score is None else one.score


def _nested(pairs: Iterable[Pair], value: Callable[[Pair], float]) -> float | None:
    """The mean over repeats, then samples, then submissions, as in the summary."""
    cells: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        cells[pair.key.submission][pair.key.sample].append(value(pair))
    return mean(mean(mean(repeats) for repeats in samples.values()) for samples in cells.values())


def _weighted(values: Sequence[float], weights: Sequence[float]) -> float | None:
    total = math.fsum(weights)
    if total <= 0:
        return None
    return math.fsum(value * (weight / total) for value, weight in zip(values, weights, strict=True))


def _mcnemar(pairs: Iterable[Pair]) -> McNemar:
    samples: dict[tuple[str, str, int], list[Pair]] = defaultdict(list)
    for pair in pairs:
        samples[pair.key.task_id, pair.key.submission, pair.key.sample].append(pair)
    counts: Mapping[tuple[bool, bool], int] = Counter(
        (
            all(pair.scored_a.status == "PASS" for pair in repeats),
            all(pair.scored_b.status == "PASS" for pair in repeats),
        )
        for repeats in samples.values()
    )
    only_a, only_b = counts.get((True, False), 0), counts.get((False, True), 0)
    return McNemar(
        n=len(samples),
        both=counts.get((True, True), 0),
        neither=counts.get((False, False), 0),
        only_a=only_a,
        only_b=only_b,
        p_value=exact_p_value(only_a, only_b),
    )
