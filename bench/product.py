"""scorehost's own side: attempts in one process, on a bench that stays open."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from scorehost.attempt.resources import Resources, open_resources
from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.door import Engine
from scorehost.engine.opening import open_engine
from scorehost.model.ids import AttemptKey, new_job_id
from scorehost.model.order import Order
from scorehost.model.result import Result
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample

_numbers = itertools.count(1)


class Scoring:
    """Scores attempts of one dataset, one after another or side by side."""

    def __init__(self, bench: Resources, folder: Path) -> None:
        self.bench = bench
        self.folder = folder

    async def one(self, task_id: str = "t0", folder: Path | None = None) -> Result:
        """One attempt at a task's own solution; raises when it is not PASS."""
        task = self.bench.dataset.tasks[task_id]
        key = AttemptKey(task_id=task_id, submission="s", sample=next(_numbers))
        sample = Sample(folder or task.solution)
        target = self.folder / "attempts" / key.folder
        result = await score(self.bench, Order(key, Work(task, sample)), target, lambda _kind, _fields: None)
        if result.status != "PASS":
            raise RuntimeError(f"{key}: {result.error}")
        return result

    async def many(self, count: int, workers: int) -> float:
        """Attempts per second over `count` attempts, `workers` at a time."""
        limiter = anyio.CapacityLimiter(workers)

        async def attempt() -> None:
            async with limiter:
                await self.one()

        begun = time.perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(attempt)
        return count / (time.perf_counter() - begun)


@asynccontextmanager
async def scoring(dataset: Path, engine: Engine | None = None) -> AsyncIterator[Scoring]:
    """A bench on a dataset; on the real engine when none is given."""
    with TemporaryDirectory(prefix="scorehost-bench-") as runs:
        folder = Path(runs) / new_job_id()
        folder.mkdir()
        found = load_dataset(dataset)
        first = next(iter(found.tasks.values()))
        order = Order(AttemptKey(task_id=first.task_id, submission="s"), Work(first, Sample()))

        def upcoming(count: int) -> list[Order[Work]]:
            return [order] * count

        async with AsyncExitStack() as stack:
            used = engine or await stack.enter_async_context(open_engine())
            bench = await stack.enter_async_context(
                open_resources(used, found, job_id=folder.name, folder=folder, upcoming=upcoming)
            )
            yield Scoring(bench, folder)
