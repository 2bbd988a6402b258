"""Many attempts on the in-memory engine: what the controller itself costs, and whether it grows."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from bench import datasets
from bench.scripted import passing
from bench.timing import Row
from scorehost.api import RunOptions, run
from scorehost.engine.door import Engine
from scorehost.engine.memory import MemoryEngine

THOUSAND = 1_000


def resident() -> float:
    """Resident memory of the process now, MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


@asynccontextmanager
async def in_memory(_host: str | None = None) -> AsyncIterator[Engine]:
    """An engine in memory on which every evaluator passes."""
    async with MemoryEngine() as engine:
        engine.images.add(datasets.IMAGE)
        engine.program(lambda launch: launch.main, passing)
        yield engine


async def job(dataset: Path, out: Path, *, resume: str | None = None, stop_after: int | None = None) -> float:
    """Runs or resumes a job of the dataset's solutions; seconds until the first attempt began."""
    stop, done = anyio.Event(), 0
    begun, first = time.perf_counter(), 0.0

    def watch(event: object) -> None:
        nonlocal done, first
        kind = getattr(event, "kind", "")
        if kind == "attempt_started" and not first:
            first = time.perf_counter() - begun
        if kind == "attempt_finished":
            done += 1
            if done == stop_after:
                stop.set()

    given = {} if resume else {"submissions": ("solution",), "dataset": dataset}
    options = RunOptions(out=out, concurrency=2, resume=resume, **given)
    await run(options, watch, stop, engine=in_memory)
    return first or time.perf_counter() - begun


async def thousand(place: Path) -> tuple[Row, Row]:
    """1,000 attempts: CPU of the controller for each (with the in-memory engine's own), and its growth."""
    dataset = datasets.write(place / "thousand", tasks=THOUSAND)
    await job(dataset, place / "warm-up", stop_after=100)
    gc.collect()
    before, cpu = resident(), time.process_time()
    await job(dataset, place / "runs")
    spent = (time.process_time() - cpu) / THOUSAND
    gc.collect()
    return (
        Row("controller's CPU an attempt, in memory", "4 ms or less", spent * 1e3, 0, "ms"),
        Row("its memory over 1,000 attempts", "flat", resident() - before, 0, "MiB"),
    )
