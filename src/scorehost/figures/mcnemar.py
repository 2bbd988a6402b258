"""McNemar's test for paired verdicts, exact."""

from __future__ import annotations


def exact_p_value(only_a: int, only_b: int) -> float | None:
    """The two-sided p-value of `only_a` against `only_b` discordant pairs; None when there are none.

    Given n = only_a + only_b discordant pairs, either side has a binomial(n, 1/2) count under the hypothesis
    that both pass equally often: p = min(1, 2 * sum of C(n, i) / 2**n for i up to the smaller count).
    McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12, 1947, 153-157; the exact form as in Fay, "Two-sided exact tests and matching confidence
    intervals for discrete data", The R Journal 2(1), 2010, 53-58.
    """
    n = only_a + only_b
    if n == 0:
        return None
    term, total = 1, 0
    for i in range(min(only_a, only_b) + 1):
        total += term
        term = term * (n - i) // (i + 1)
    # Whole numbers until the last division: no rounding, however many pairs there are.
    return min(1.0, 2 * total / (1 << n))
