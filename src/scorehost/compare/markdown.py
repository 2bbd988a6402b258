"""A comparison as Markdown, for a pull request or a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.compare.wording import comparison_words
from scorehost.report.markdown_text import plain, table
from scorehost.report.numbers import figure, signed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.model.comparison import Comparison

_RIGHT = ("n", "left out", "PASS A", "PASS B", "mean A", "mean B", "difference")


def comparison_markdown(comparison: Comparison) -> str:
    """The whole comparison; names and reasons are escaped."""
    words = comparison_words(comparison)
    lines = ["# Comparison", "", *_bullets(words.sides), "", "## What differs", ""]
    lines += _bullets(words.differences) or ["Nothing."]
    lines += _bullets((*words.notes, words.unmatched))
    if words.verdict:
        lines += ["", f"**{_sentence(words.verdict)}**"]
    if words.figures:
        lines += ["", "## Figures", "", *_bullets(words.figures), "", *_tasks(comparison)]
    lines += ["", "## What changed", "", *_changes(comparison)]
    if words.checks:
        lines += ["", *_bullets(words.checks)]
    if words.regressions:
        lines += ["", *_bullets(words.regressions)]
    return "\n".join(lines) + "\n"


def _bullets(texts: Iterable[str]) -> list[str]:
    return [f"- {_sentence(text)}" for text in texts if text]


def _sentence(text: str) -> str:
    # Word by word: a sentence of ours may be longer than a reason, which is cut.
    return " ".join(map(plain, text.split()))


def _tasks(comparison: Comparison) -> list[str]:
    head = ("task", "n", "left out", "PASS A", "PASS B", "mean A", "mean B", "difference")
    rows = [
        (
            task.task_id,
            str(task.n),
            str(task.left_out),
            str(task.passed_a),
            str(task.passed_b),
            figure(task.mean_a),
            figure(task.mean_b),
            signed(task.difference),
        )
        for task in comparison.tasks
    ]
    return table(head, rows, right=_RIGHT)


def _changes(comparison: Comparison) -> list[str]:
    if not comparison.changes:
        return ["No verdict and no score."]
    head = ("task", "submission", "sample", "A", "B", "reason in B")
    rows = [
        (
            one.task_id,
            one.submission if one.submission == one.submission_b else f"{one.submission}, {one.submission_b}",
            f"{one.sample}.{one.repeat}",
            f"{one.status_a} {'-' if one.score_a is None else figure(one.score_a)}",
            f"{one.status_b} {'-' if one.score_b is None else figure(one.score_b)}",
            one.reason,
        )
        for one in comparison.changes
    ]
    return table(head, rows)
