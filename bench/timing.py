"""Two sides of one comparison, measured in turn, and the table that shows them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

import anyio

RUNS = 7
IN_A_ROW = 4
QUIET_SECONDS = 1.5  # until hosts that are made ahead of need are ready: they must not slow down the floor


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: both sides in `unit`, medians where there are several runs.

    `product` None: it was not measured, and the note says why.
    """

    what: str
    goal: str
    product: float | None
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


async def one_after_another(attempt: Callable[[], Awaitable[object]]) -> float:
    """Seconds of one attempt among several without a pause, as hosts that are made ahead need them.

    The first is not counted: its host was made ready in the pause. The engine is quiet again at the end.
    """
    await attempt()
    begun = time.perf_counter()
    for _ in range(IN_A_ROW):
        await attempt()
    spent = (time.perf_counter() - begun) / IN_A_ROW
    await anyio.sleep(QUIET_SECONDS)
    return spent


async def ready(attempt: Callable[[], Awaitable[float]]) -> float:
    """What `attempt` gives on a host that is ready since the pause of the call before; then a pause again."""
    spent = await attempt()
    await anyio.sleep(QUIET_SECONDS)
    return spent


def table(rows: list[Row]) -> str:
    """The rows as text in columns."""
    head = ("what", "goal", "scorehost", "floor", "ratio", "")
    lines = [
        (
            row.what,
            row.goal,
            "-" if row.product is None else f"{row.product:.4g} {row.unit}".rstrip(),
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
