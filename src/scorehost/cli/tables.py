"""The table of attempts: columns that line up, one line for each, safe to print whatever the names hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.cli.text import count, score_text, shorten, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.api import Row

ALL_SHOWN = 200  # up to so many attempts each has its line; beyond, only those that did not PASS
NOT_PASSED_SHOWN = 200
_LEAST_REASON = 20
_HEAD = ("task", "submission", "sample", "status", "score", "seconds", "reason")
_RIGHT = frozenset({"score", "seconds", "bytes", "PASS", "FAIL", "ERROR", "mean", "n"})


def columns(rows: Sequence[Sequence[str]], head: Sequence[str], *, width: int | None = None) -> list[str]:
    """Lines with two spaces between columns; numbers to the right; the last column cut to fit `width`."""
    body = [[visible(cell) for cell in row] for row in rows]
    sizes = [max(len(line[place]) for line in [list(head), *body]) for place in range(len(head))]
    before = sum(sizes[:-1]) + 2 * (len(head) - 1)
    room = None if width is None else max(width - before, _LEAST_REASON)
    lines = []
    for line in [list(head), *body]:
        cells = [
            cell.rjust(size) if name in _RIGHT else cell.ljust(size)
            for cell, size, name in zip(line[:-1], sizes[:-1], head[:-1], strict=True)
        ]
        last = line[-1] if room is None else shorten(line[-1], room)
        lines.append("  ".join([*cells, last]).rstrip())
    return lines


def attempt_lines(rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """The table of attempts. Of many, those that did not PASS, and a line that says what is left out."""
    if not rows:
        return ["no attempt was scored"]
    shown = list(rows)
    left_out: list[str] = []
    if len(rows) > ALL_SHOWN:
        missed = [row for row in rows if row.status not in ("PASS", "SCORED")]
        passed = any(row.status == "PASS" for row in rows)
        shown = missed[:NOT_PASSED_SHOWN]
        left_out.append(count(len(rows) - len(missed), "PASS attempt" if passed else "SCORED attempt"))
        if len(missed) > len(shown):
            left_out.append(f"{len(missed) - len(shown)} FAIL or ERROR")
    lines = columns([_cells(row) for row in shown], _HEAD, width=width) if shown else []
    if left_out:
        lines.append(f"… {', '.join(left_out)} not listed; all of them are in the job's folder")
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.key.task_id,
        row.key.submission,
        f"{row.key.sample}.{row.key.repeat}",
        row.status,
        score_text(row.score),
        f"{row.seconds:.1f}",
        " ".join(part for part in (row.reason, marked(row.warnings)) if part),
    )


def marked(warnings: int) -> str:
    """That an attempt has warnings, which stand below the table; "" for none."""
    return f"({count(warnings, 'warning')})" if warnings else ""
