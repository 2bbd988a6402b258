"""A bootstrap interval for a weighted mean over tasks."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

from scorehost.model.comparison import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
SEED = 20261130
RESAMPLES, RESAMPLES_OF_MANY, MANY = 9_999, 1_999, 1_000  # fewer where there are more than MANY tasks
FEW = 20
ROUNDING = 1e-12  # relative: 0.2 - 0.1 and 0.8 - 0.7 are one difference


def bootstrap_interval(
    differences: Sequence[float], weights: Sequence[float], *, resamples: int | None = None, seed: int = SEED
) -> Interval:
    """The 95 % percentile interval of the weighted mean of one difference for each task.

    Tasks are drawn with replacement, each with all of its pairs: attempts of one task are not independent,
    and the tasks stand for those that might have been asked. The ends are the k-th smallest and the k-th
    largest of the resampled means, k = (resamples + 1) * 0.025. Undefined for fewer than two tasks,
    and where all differences are one but for rounding.

    Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, section 13.3 (percentile interval); Field &
    Welsh, "Bootstrapping clustered data", Journal of the Royal Statistical Society B 69, 2007, 369-390
    (clusters drawn as wholes).
    """
    count = len(differences)
    number = resamples or (RESAMPLES if count <= MANY else RESAMPLES_OF_MANY)

    def interval(lower: float | None, upper: float | None, why: str) -> Interval:
        return Interval(
            lower=lower,
            upper=upper,
            confidence=CONFIDENCE,
            n_tasks=count,
            resamples=number,
            seed=seed,
            why=why,
        )

    if count < 2:  # noqa: PLR2004 - one task alone tells nothing of how tasks vary
        return interval(None, None, "fewer than two tasks have pairs that count")
    if max(differences) - min(differences) <= ROUNDING * max(map(abs, differences)):
        # Every draw would give the same mean: an interval without width would claim a certainty.
        return interval(None, None, "all tasks differ by the same amount, which shows no spread")
    if math.fsum(weights) <= 0:
        return interval(None, None, "the tasks have no weight")
    means = _resampled(differences, weights, number, Random(seed))  # noqa: S311 - statistics, no secret
    if len(means) < number:
        return interval(None, None, "some draws of tasks have no weight")
    means.sort()
    place = max(int((number + 1) * (1 - CONFIDENCE) / 2 + 1e-9), 1)
    why = f"fewer than {FEW} tasks: the interval tends to be too narrow" if count < FEW else ""
    return interval(means[place - 1], means[number - place], why)


def _resampled(
    differences: Sequence[float], weights: Sequence[float], number: int, random: Random
) -> list[float]:
    # A draw's weighted sum and its weight are one complex number, so that one sum in C gives both.
    drawn = [
        complex(weight * difference, weight) for difference, weight in zip(differences, weights, strict=True)
    ]
    count = len(drawn)
    sums = (sum(random.choices(drawn, k=count)) for _ in range(number))
    return [total.real / total.imag for total in sums if total.imag > 0]
