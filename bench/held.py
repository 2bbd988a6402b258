"""How long one callback keeps the event loop from all others while attempts run side by side in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import datasets
from bench.many import job
from bench.timing import Row

AT_A_TIME, ATTEMPTS = 8, 400
_OFTEN = 0.999


@dataclass(slots=True)
class Held:
    """Seconds of every callback of the loop that took more than a tenth of a millisecond."""

    seconds: list[float] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """The longest of them."""
        return max(self.seconds, default=0.0)

    @property
    def often(self) -> float:
        """What 999 of 1,000 stay below."""
        ordered = sorted(self.seconds)
        return ordered[int(len(ordered) * _OFTEN)] if ordered else 0.0


@contextmanager
def holding() -> Iterator[Held]:
    """Times every callback of every loop of this process."""
    held, plain = Held(), asyncio.events.Handle._run  # noqa: SLF001 - the one place that all of them pass

    def timed(self: asyncio.Handle) -> None:
        begun = time.perf_counter()
        plain(self)
        spent = time.perf_counter() - begun
        if spent > 1e-4:  # noqa: PLR2004
            held.seconds.append(spent)

    asyncio.events.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
    try:
        yield held
    finally:
        asyncio.events.Handle._run = plain  # type: ignore[method-assign]  # noqa: SLF001


async def loop_held(place: Path) -> tuple[Row, Row]:
    """400 attempts, 8 at a time, of which one callback must not keep the others waiting."""
    dataset = datasets.write(place / "held", tasks=100)
    await job(dataset, place / "warm-up", stop_after=50, at_a_time=AT_A_TIME)
    with holding() as held:

        def met(_sitting: object, kind: str) -> None:
            if kind == "job_started":
                held.seconds.clear()

        await job(dataset, place / "runs", repeat=ATTEMPTS // 100, at_a_time=AT_A_TIME, met=met)
    note = f"{AT_A_TIME} attempts at a time, in memory; the job's end is in it"
    return (
        Row("loop held, longest", "50 ms or less", held.longest * 1e3, 0, "ms", note=note),
        Row("loop held, 999 of 1,000 callbacks", "10 ms or less", held.often * 1e3, 0, "ms", note=note),
    )
