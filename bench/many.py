"""Many attempts on the in-memory engine: what the controller itself costs, and whether it grows."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from bench import datasets, memory
from bench.scripted import passing
from bench.share import engine_share
from bench.timing import Row
from scorehost.api import JobOutcome, Running, ScoreAsked, run
from scorehost.engine.door import Engine
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_process import Launch

THOUSAND = 1_000


class _Forgetful(list[Launch]):
    """In place of the engine's own record of every process, which is there for tests and grows."""

    def append(self, _launch: Launch) -> None:
        """Keeps nothing."""


@asynccontextmanager
async def in_memory(_host: str | None = None) -> AsyncIterator[Engine]:
    """An engine in memory on which every evaluator passes."""
    async with MemoryEngine() as engine:
        engine.images.add(datasets.IMAGE)
        engine.launches = _Forgetful()
        engine.program(lambda launch: launch.main, passing)
        yield engine


@dataclass(slots=True)
class Sitting:
    """One run or resume of a job, and its moments on the clock."""

    begun: float = field(default_factory=time.perf_counter)
    started: float = 0.0  # planned, or taken up: it knows what is left
    last: float = 0.0  # an attempt finished
    ended: float = 0.0
    finished: int = 0


async def job(
    dataset: Path,
    out: Path,
    *,
    resume: str | None = None,
    repeat: int = 1,
    stop_after: int | None = None,
    at_a_time: int = 2,
    met: Callable[[Sitting, str], None] = lambda _sitting, _kind: None,
) -> tuple[Sitting, JobOutcome]:
    """Runs or resumes a job of the dataset's solutions; `met` is told of each event, by its kind."""
    stop, sitting = anyio.Event(), Sitting()

    def watch(event: object) -> None:
        kind = getattr(event, "kind", "")
        if kind == "job_started":
            sitting.started = time.perf_counter()
        if kind == "attempt_finished":
            sitting.last = time.perf_counter()
            sitting.finished += 1
            if sitting.finished == stop_after:
                stop.set()
        met(sitting, kind)

    asked = ScoreAsked(dataset=dataset, submissions=("solution",), repeat=repeat)
    running = Running(out=out, concurrency=at_a_time, resume=resume)
    outcome = await run(None if resume else asked, running, watch, stop, engine=in_memory)
    sitting.ended = time.perf_counter()
    return sitting, outcome


async def thousand(place: Path) -> tuple[Row, Row]:
    """1,000 attempts: CPU of the controller for each (with the in-memory engine's own), and its growth."""
    dataset = datasets.write(place / "thousand", tasks=THOUSAND)
    await job(dataset, place / "warm-up", stop_after=100)
    before = memory.settled()
    with engine_share() as share:
        cpu = time.process_time()
        await job(dataset, place / "runs")
        spent = (time.process_time() - cpu) / THOUSAND * 1e3
    own = share.seconds / THOUSAND * 1e3
    note = f"{spent - own:.1f} ms without the in-memory engine's own {own:.1f} ms"
    return (
        Row("controller's CPU an attempt, in memory", "4 ms or less", spent, 0, "ms", note=note),
        Row("its memory over 1,000 attempts", "flat", memory.settled() - before, 0, "MiB"),
    )
