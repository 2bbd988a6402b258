"""Interval, test and means of a comparison against values worked out by hand."""

from __future__ import annotations

from random import Random

import pytest

from scorehost.figures.interval import RESAMPLES, bootstrap_interval
from scorehost.figures.mcnemar import exact_p_value


@pytest.mark.parametrize(
    ("only_a", "only_b", "p_value"),
    [
        (1, 5, 14 / 64),  # 2 * (C(6,0) + C(6,1)) / 2**6
        (5, 1, 14 / 64),
        (2, 10, 158 / 4096),  # 2 * (1 + 12 + 66) / 2**12
        (0, 5, 2 / 32),
        (0, 1, 1.0),
        (3, 3, 1.0),  # twice the half is more than one
        (0, 10, 2 / 1024),
    ],
)
def test_mcnemar_is_twice_the_smaller_binomial_tail(only_a, only_b, p_value):
    assert exact_p_value(only_a, only_b) == pytest.approx(p_value, rel=1e-12)


def test_mcnemar_is_undefined_without_discordant_pairs():
    assert exact_p_value(0, 0) is None


def test_mcnemar_of_very_many_pairs_does_not_overflow():
    assert exact_p_value(0, 5_000) == 0.0  # 2 ** -4999 is below the smallest float
    assert exact_p_value(10_000, 10_000) == 1.0


@pytest.mark.parametrize(
    ("differences", "weights", "ends"),
    [
        # Draws of 2: mean 0 with chance 1/4, 1/2 with 1/2, 1 with 1/4: both tails hold more than 2.5 %.
        ([0.0, 1.0], [1.0, 1.0], (0.0, 1.0)),
        # Of 4, one being 1: all four ones 1/256 = 0.4 %, three or more 13/256 = 5.1 %; none 81/256.
        ([1.0, 0.0, 0.0, 0.0], [1.0] * 4, (0.0, 0.75)),
        # Binomial(10, 1/2): at most 1 with 1.07 %, at most 2 with 5.47 %; the same above.
        ([0.0, 1.0] * 5, [1.0] * 10, (0.2, 0.8)),
        # Weight 3 on 0, weight 1 on 4: 0 with 1/4, 4/4 = 1 with 1/2, 4 with 1/4.
        ([0.0, 4.0], [3.0, 1.0], (0.0, 4.0)),
    ],
)
def test_the_interval_has_the_percentiles_of_the_exact_distribution(differences, weights, ends):
    interval = bootstrap_interval(differences, weights)
    assert (interval.lower, interval.upper) == (pytest.approx(ends[0]), pytest.approx(ends[1]))
    assert (interval.n_tasks, interval.resamples, interval.confidence) == (len(differences), RESAMPLES, 0.95)


def test_the_interval_is_the_same_each_time():
    differences = [(3.0 * number) % 7 - 2 for number in range(30)]
    assert bootstrap_interval(differences, [1.0] * 30) == bootstrap_interval(differences, [1.0] * 30)


def test_the_interval_takes_the_order_statistics_that_it_says():
    # 39 resamples: k = 40 * 0.025 = 1, so the smallest and the largest of them.
    draws = Random(7)  # noqa: S311 - the one that the interval is said to use
    sums = sorted(sum(draws.choices([0.0, 1.0, 5.0], k=3)) / 3 for _ in range(39))
    interval = bootstrap_interval([0.0, 1.0, 5.0], [1.0] * 3, resamples=39, seed=7)
    assert (interval.lower, interval.upper) == (pytest.approx(sums[0]), pytest.approx(sums[-1]))


@pytest.mark.parametrize(
    ("differences", "weights", "why"),
    [
        ([], [], "fewer than two tasks"),
        ([0.5], [1.0], "fewer than two tasks"),
        ([0.5, 0.5, 0.5], [1.0] * 3, "no spread"),
        ([0.2 - 0.1, 0.8 - 0.7, 0.5 - 0.4], [1.0] * 3, "no spread"),  # but for the last bits
        ([0.0, 1.0], [0.0, 0.0], "no weight"),
        ([0.0, 1.0], [0.0, 1.0], "no weight"),
    ],
)
def test_an_interval_that_nothing_supports_is_undefined(differences, weights, why):
    interval = bootstrap_interval(differences, weights)
    assert (interval.lower, interval.upper) == (None, None)
    assert why in interval.why
