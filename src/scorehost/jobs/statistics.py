"""The figures of a set of attempts: means, bounds, rates, agreement, metrics. No mean hides an ERROR.

A mean is taken from the inside out: over the repeats of a sample, the samples of a task and submission, the
submissions of a task, and the tasks by their weights.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from scorehost.figures.estimators import ks, pass_at_k, pass_power_k
from scorehost.model.direction import common, worst_end, worst_of
from scorehost.model.summary import Bounds, Counts, ErrorCount, Group, MetricSummary
from scorehost.runs.scored import Scored

if TYPE_CHECKING:
    from scorehost.runs.record import TaskRecord

Value = Callable[[Scored], float | None]
Cells = Mapping[str, Mapping[str, Mapping[int, Sequence[Scored]]]]
"""task_id -> submission -> sample -> its repeats"""


class Figures:
    """Computes groups; `attempts` are all finished ones of the job: an open range's worst is theirs."""

    def __init__(self, tasks: Mapping[str, TaskRecord], attempts: Iterable[Scored]) -> None:
        self._tasks = tasks
        self._worst = worst_scores(tasks, attempts)

    def group(self, attempts: Sequence[Scored], *, planned: int, task_ids: Collection[str]) -> Group:
        """The figures of `attempts`, of `planned` in all; `task_ids` are the tasks of the plan for them."""
        cells = _cells(attempts)
        judged = {task_id: cell for task_id, cell in cells.items() if self._tasks[task_id].verdict != "none"}
        direction = common(self._tasks[task_id].direction for task_id in task_ids)
        weights = self._weights(task_ids)
        counts = Counter(one.status for one in attempts)
        failed = [(one, one.error) for one in attempts if one.error is not None]
        errors = Counter((error.kind, error.blame.value) for _one, error in failed)
        lowest = Counter((error.kind, error.blame.value) for one, error in failed if one.counts_as_lowest)
        as_lowest = sum(one.counts_as_lowest for one in attempts)
        left_out = sum(one.left_out for one in attempts)
        most = max((len(samples) for task in judged.values() for samples in task.values()), default=0)
        return Group(
            planned=planned,
            done=len(attempts),
            counts=Counts(PASS=counts["PASS"], FAIL=counts["FAIL"], ERROR=counts["ERROR"]),
            errors=tuple(
                ErrorCount(kind=kind, blame=blame, count=count, as_lowest=lowest[kind, blame])
                for (kind, blame), count in sorted(errors.items(), key=lambda item: (-item[1], item[0]))
            ),
            scored=counts["SCORED"],
            direction=direction,
            mean_score=None if direction == "mixed" else _mean(cells, self._counted, weights),
            n=len(attempts) - left_out,
            errors_as_lowest=as_lowest,
            errors_provoked=sum(one.provoked for one in attempts),
            errors_left_out=left_out,
            bounds=Bounds(lower=None, upper=None) if direction == "mixed" else self._bounds(cells, weights),
            pass_at_k={str(k): _rate(judged, k, pass_at_k, weights) for k in ks(most)},
            pass_power_k={str(k): _rate(judged, k, pass_power_k, weights) for k in ks(most)},
            agreement=_agreement(judged),
            metrics=self._metrics(attempts, task_ids),
        )

    def _counted(self, one: Scored) -> float | None:
        if one.counts_as_lowest:
            return self._worst[one.key.task_id]
        return one.score

    def _weights(self, task_ids: Iterable[str]) -> Mapping[str, float]:
        """What each task weighs, at most 1. Weights compare tasks: where none has any, all are even."""
        given = {task_id: self._tasks[task_id].weight for task_id in task_ids}
        most = max(given.values(), default=0.0)
        return {task_id: weight / most if most > 0 else 1.0 for task_id, weight in given.items()}

    def _bounds(self, cells: Cells, weights: Mapping[str, float]) -> Bounds:
        ranges = {task_id: self._tasks[task_id].score_range for task_id in weights}
        closed = {task_id: bounds for task_id, bounds in ranges.items() if bounds is not None}
        if len(closed) < len(ranges):
            return Bounds(lower=None, upper=None)

        def end(index: int) -> Value:
            return lambda one: closed[one.key.task_id][index] if one.status == "ERROR" else one.score

        return Bounds(lower=_mean(cells, end(0), weights), upper=_mean(cells, end(1), weights))

    def _metrics(self, attempts: Sequence[Scored], task_ids: Iterable[str]) -> tuple[MetricSummary, ...]:
        declared = {
            (metric.id, metric.direction, metric.aggregate): set[str]()
            for task_id in task_ids
            for metric in self._tasks[task_id].metrics
        }
        if not declared:
            return ()
        for task_id in {one.key.task_id for one in attempts}:
            for metric in self._tasks[task_id].metrics:
                declared[metric.id, metric.direction, metric.aggregate].add(task_id)
        rows = []
        for (name, direction, aggregate), owners in sorted(declared.items()):
            own = [one for one in attempts if one.key.task_id in owners]
            values = [one.metrics[name] for one in own if name in one.metrics]
            others = Counter(one.unusable[name] for one in own if name in one.unusable)
            rows.append(
                MetricSummary(
                    id=name,
                    direction=direction,
                    aggregate=aggregate,
                    value=aggregated(values, aggregate),
                    n=len(values),
                    left_out=dict(sorted(others.items())),
                )
            )
        return tuple(rows)


def worst_scores(tasks: Mapping[str, TaskRecord], attempts: Iterable[Scored]) -> dict[str, float]:
    """The worst score of each task, which is what an ERROR of the submission's counts as.

    An open range has no worst end. Zero is what a FAIL without a score gets; where scores of `attempts` are
    worse, a crash must not be better than the worst that was scored.
    """
    observed: dict[str, float] = {}
    for one in attempts:
        task = tasks.get(one.key.task_id)
        if one.score is not None and task is not None:
            known = observed.get(one.key.task_id, 0.0)
            observed[one.key.task_id] = worst_of(task.direction, (one.score, known))
    return {
        task_id: observed.get(task_id, 0.0)
        if task.score_range is None
        else worst_end(task.direction, task.score_range)
        for task_id, task in tasks.items()
    }


def _mean(cells: Cells, value: Value, weights: Mapping[str, float]) -> float | None:
    return _over_tasks(
        cells, lambda samples: mean(mean(map(value, repeats)) for repeats in samples.values()), weights
    )


def _over_tasks(
    cells: Cells,
    of_cell: Callable[[Mapping[int, Sequence[Scored]]], float | None],
    weights: Mapping[str, float],
) -> float | None:
    pairs = []
    for task_id, submissions in cells.items():
        figure = mean(of_cell(samples) for samples in submissions.values())
        if figure is not None:
            pairs.append((figure, weights[task_id]))
    total = math.fsum(weight for _figure, weight in pairs)
    if total <= 0:
        return None
    return math.fsum(figure * (weight / total) for figure, weight in pairs)


def _rate(
    cells: Cells,
    k: int,
    estimate: Callable[[int, int, int], float | None],
    weights: Mapping[str, float],
) -> float | None:
    """The mean rate over tasks; None when a task has fewer than k samples that count, or none at all.

    A rate has no bounds beside it: one over the tasks that are left would hide the ERRORs of the others.
    """
    short = False

    def of_cell(samples: Mapping[int, Sequence[Scored]]) -> float | None:
        nonlocal short
        passes = [verdict for verdict in map(_passes, samples.values()) if verdict is not None]
        rate = estimate(len(passes), sum(passes), k)
        # A submission with many samples on easy tasks only must not be judged by those alone.
        short = short or rate is None
        return rate

    rate = _over_tasks(cells, of_cell, weights)
    return None if short else rate


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there; None when none is. Exact sums, so the order never matters."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    try:
        return math.fsum(present) / len(present)
    except OverflowError:
        return math.fsum(value / len(present) for value in present)


def _cells(attempts: Iterable[Scored]) -> Cells:
    cells: dict[str, dict[str, dict[int, list[Scored]]]] = {}
    for one in attempts:
        key = one.key
        cells.setdefault(key.task_id, {}).setdefault(key.submission, {}).setdefault(key.sample, []).append(
            one
        )
    return cells


def _passes(repeats: Sequence[Scored]) -> bool | None:
    """Whether a sample passes: in each repeat that counts; None when none counts."""
    counting = [one for one in repeats if not one.left_out]
    return all(one.status == "PASS" for one in counting) if counting else None


def _agreement(cells: Cells) -> float | None:
    """The share of samples whose repeats all have one verdict, among those with two or more that count."""
    same = total = 0
    for submissions in cells.values():
        for samples in submissions.values():
            for repeats in samples.values():
                verdicts = [one.status for one in repeats if not one.left_out]
                if len(verdicts) > 1:
                    total += 1
                    same += len(set(verdicts)) == 1
    return same / total if total else None


def aggregated(values: Sequence[float], aggregate: str) -> float | None:
    """The values as their metric says they are summed up; None when there is none."""
    if not values:
        return None
    if aggregate == "mean":
        return mean(values)
    if aggregate == "median":
        return statistics.median(values)
    if aggregate == "sum":
        try:
            return math.fsum(values)
        except OverflowError:
            return None
    return min(values) if aggregate == "min" else max(values)
