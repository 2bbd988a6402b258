"""Two sides of one comparison, measured in turn, and the table that shows them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

RUNS = 7


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: both sides in `unit`, medians where there are several runs."""

    what: str
    goal: str
    product: float
    floor: float
    unit: str
    ratio: float | None = None
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        """The row as JSON."""
        return asdict(self)


async def in_turn(
    product: Callable[[], Awaitable[float | None]], floor: Callable[[], None], runs: int = RUNS
) -> tuple[float, float]:
    """Median seconds of both sides, floor and product in turn after one warm-up of each.

    A `product` that returns a number is taken at its word; else it is timed from outside.
    """
    sides: tuple[list[float], list[float]] = ([], [])
    for run in range(runs + 1):
        begun = time.perf_counter()
        floor()
        middle = time.perf_counter()
        said = await product()
        ended = time.perf_counter()
        if run:
            sides[0].append(middle - begun)
            sides[1].append(ended - middle if said is None else said)
    return statistics.median(sides[1]), statistics.median(sides[0])


def table(rows: list[Row]) -> str:
    """The rows as text in columns."""
    head = ("what", "goal", "scorehost", "floor", "ratio", "")
    lines = [
        (
            row.what,
            row.goal,
            f"{row.product:.4g} {row.unit}",
            f"{row.floor:.4g} {row.unit}" if row.floor else "-",
            f"{row.ratio:.2f}" if row.ratio is not None else "-",
            row.note,
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [head, *lines]
    )
