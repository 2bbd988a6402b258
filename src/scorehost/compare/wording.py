"""A comparison in sentences, which the terminal and Markdown share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.report.numbers import UNDEFINED, figure, signed, span

if TYPE_CHECKING:
    from scorehost.model.comparison import Comparison, Difference, Figures, MetricComparison, Side

MISMATCH = (
    "MISMATCH ALLOWED: A and B were scored by different inputs. "
    "What differs between their numbers may be the measure and not what was measured."
)
REFUSED = (
    "No ranking: A and B were scored by different inputs, so their scores cannot be compared. "
    "With --allow-mismatch the figures are shown anyway."
)
UNTOLD = (
    "No ranking: gold of A and B was bound under two keys, so nobody can tell whether it is the same. "
    "Jobs with one gold.key can be compared. With --allow-mismatch the figures are shown anyway."
)
UNTOLD_ALLOWED = (
    "MISMATCH ALLOWED: nobody can tell whether A and B were scored by the same gold, since it was bound "
    "under two keys (gold.key). What differs between their numbers may be the measure."
)
_TASKS = 5
_CHECKS = 50


@dataclass(frozen=True, slots=True)
class Words:
    """A comparison in lines: what stands first is said first. `verdict` and `unmatched` may be empty.

    `checks` are those that moved.
    """

    sides: tuple[str, str]
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    unmatched: str
    verdict: str
    figures: tuple[str, ...]
    checks: tuple[str, ...]
    regressions: tuple[str, ...]


def comparison_words(comparison: Comparison) -> Words:
    """The sentences of a comparison, escaped for nothing yet."""
    figures = comparison.figures
    return Words(
        sides=(_side("A", comparison.a), _side("B", comparison.b)),
        differences=tuple(map(_difference, comparison.differences)),
        notes=comparison.notes,
        unmatched=_unmatched(comparison),
        verdict=_verdict(comparison),
        figures=() if figures is None else (*_figure_lines(figures), *map(_metric, comparison.metrics)),
        checks=tuple(_check_lines(comparison)),
        regressions=tuple(_regression_lines(comparison)),
    )


def _verdict(comparison: Comparison) -> str:
    if comparison.comparable:
        return ""
    if any(one.kind == "scoring" for one in comparison.differences):
        return MISMATCH if comparison.mismatch_allowed else REFUSED
    return UNTOLD_ALLOWED if comparison.mismatch_allowed else UNTOLD


def _side(name: str, one: Side) -> str:
    label = f" ({one.name})" if one.name else ""
    return (
        f"{name}: {one.job_id}{label}, {one.dataset_id} {one.dataset_version}, {one.status}, "
        f"{_many(one.attempts, 'attempt')}"
    )


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _difference(one: Difference) -> str:
    word = " (a warning)" if one.kind == "rebuilt" else ""
    if not one.tasks:
        return f"{one.what}: {one.text}{word}"
    more = f" and {len(one.tasks) - _TASKS} more" if len(one.tasks) > _TASKS else ""
    return f"{one.what}: {one.text}{word}; {', '.join(one.tasks[:_TASKS])}{more}"


def _figure_lines(figures: Figures) -> list[str]:
    interval, test = figures.interval, figures.mcnemar
    how = (
        f"percentile bootstrap over {_many(interval.n_tasks, 'task')} drawn as wholes, "
        f"{interval.resamples} resamples, seed {interval.seed}"
    )
    why = f"; {interval.why}" if interval.why else ""
    p_value = UNDEFINED if test.p_value is None else f"{test.p_value:.4g}"
    means = (
        f"mean A {figure(figures.mean_a)}, mean B {figure(figures.mean_b)}, "
        f"difference {signed(figures.difference)} (n {_many(figures.n_pairs, 'pair')}, "
        f"{_many(figures.n_tasks, 'task')})"
    )
    ends = span(interval.lower, interval.upper)
    between = f"{interval.confidence:.0%} interval of the difference: {ends} ({how}{why})"
    passes = (
        f"samples that pass in A alone {test.only_a}, in B alone {test.only_b}, in both {test.both}, "
        f"in neither {test.neither} (n {test.n}); exact McNemar test, two-sided: p {p_value}"
    )
    lines = [means, between, passes]
    lowest = figures.errors_as_lowest_a + figures.errors_as_lowest_b
    if lowest or figures.left_out:
        lines.append(
            f"ERRORs that count as the lowest score: {figures.errors_as_lowest_a} in A, "
            f"{figures.errors_as_lowest_b} in B; pairs left out for any other ERROR: {figures.left_out}"
        )
    return lines


def _metric(one: MetricComparison) -> str:
    left_out = f"; left out for want of a number: {one.left_out}" if one.left_out else ""
    values = f"A {figure(one.value_a)}, B {figure(one.value_b)}, difference {signed(one.difference)}"
    return (
        f"metric {one.id} ({one.aggregate}, {one.direction}): {values} (n {_many(one.n, 'pair')}{left_out})"
    )


def _check_lines(comparison: Comparison) -> list[str]:
    shown = comparison.checks[:_CHECKS]
    lines = [
        f"check {one.id} of {one.task_id}: {one.status_a or 'absent'}, then {one.status_b or 'absent'}, in "
        f"{_many(one.count, 'pair')}, such as {one.attempts[0]}"
        for one in shown
    ]
    more = len(comparison.checks) - len(shown) + comparison.checks_left_out
    return [*lines, f"{more} more checks moved; --format json lists them"] if more else lines


def _unmatched(comparison: Comparison) -> str:
    a, b = len(comparison.only_in_a), len(comparison.only_in_b)
    return f"without a partner: {a} attempts of A, {b} of B" if a or b else ""


def _regression_lines(comparison: Comparison) -> list[str]:
    found = comparison.regressions
    lines = [f"regression: {len(found.lost)} PASS in A and not in B"] if found.lost else []
    if found.mean_fell:
        rose = comparison.figures is not None and comparison.figures.direction == "minimize"
        lines.append(f"regression: the mean {'rose, where less is better' if rose else 'fell'}")
    return lines
