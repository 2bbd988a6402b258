"""A comparison on stdout: text, Markdown or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost import api
from scorehost.cli.stdout import write
from scorehost.cli.tables import columns
from scorehost.cli.text import count, score_text, visible
from scorehost.model.json import dump

if TYPE_CHECKING:
    from scorehost.model.comparison import Change, Comparison, TaskComparison

SHOWN = 200
_TASKS = ("task", "n", "left out", "PASS A", "PASS B", "mean A", "mean B", "difference")
_CHANGES = ("task", "submission", "sample", "A", "B", "reason in B")


def show_comparison(comparison: Comparison, *, kind: str) -> None:
    """Prints it; `kind` is text, md or json."""
    if kind == "json":
        write(dump(comparison.model_dump(mode="json")))
    elif kind == "md":
        write(api.comparison_markdown(comparison))
    else:
        write("\n".join(visible(line) for line in _lines(comparison)) + "\n")


def _lines(comparison: Comparison) -> list[str]:
    words = api.comparison_words(comparison)
    lines = [*words.sides, ""]
    lines += [f"differs  {text}" for text in words.differences] or [
        "nothing differs that bears on verdicts, runs or what was handed in"
    ]
    lines += [f"note     {text}" for text in words.notes]
    lines += [text for text in (words.unmatched, words.verdict) if text]
    if comparison.figures is not None:
        shown = [task for task in comparison.tasks if task.difference != 0 or task.left_out]
        if shown:
            lines += ["", *columns([_task(task) for task in shown[:SHOWN]], _TASKS)]
            lines += _more(len(shown))
        lines += ["", *words.figures]
    lines.append("")
    if not comparison.changes:
        lines.append(f"no verdict and no score moved in {count(comparison.n_pairs, 'pair')}")
    else:
        lines.append(f"{len(comparison.changes)} of {count(comparison.n_pairs, 'pair')} moved")
        lines += columns([_change(one) for one in comparison.changes[:SHOWN]], _CHANGES)
        lines += _more(len(comparison.changes))
    lines += words.checks
    return [*lines, *words.regressions]


def _more(number: int) -> list[str]:
    return [f"… and {number - SHOWN} more; --json has all"] if number > SHOWN else []


def _task(task: TaskComparison) -> tuple[str, ...]:
    return (
        task.task_id,
        str(task.n),
        str(task.left_out),
        str(task.passed_a),
        str(task.passed_b),
        score_text(task.mean_a),
        score_text(task.mean_b),
        "-" if task.difference is None else f"{task.difference:+.4g}",
    )


def _change(one: Change) -> tuple[str, ...]:
    names = (one.submission, one.submission_b)
    return (
        one.task_id,
        names[0] if names[0] == names[1] else f"{names[0]}, {names[1]}",
        f"{one.sample}.{one.repeat}",
        f"{one.status_a} {score_text(one.score_a)}",
        f"{one.status_b} {score_text(one.score_b)}",
        one.reason,
    )
