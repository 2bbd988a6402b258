"""How many hosts start at a time is one thing, how many attempts run another."""

from __future__ import annotations

import anyio
import pytest

from reports.memory_runner import Runner
from scorehost.attempt.resources import FEWEST_STARTS
from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.memory import MemoryEngine
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import IMAGE, bench_for, write_submission, write_task

pytestmark = pytest.mark.anyio
ATTEMPTS = 8


class SlowStarts(MemoryEngine):
    """Takes a while to start a host, and remembers how many it was starting at most."""

    starting = most_starting = 0

    async def start(self, container):
        self.starting += 1
        self.most_starting = max(self.most_starting, self.starting)
        try:
            await anyio.sleep(0.02)
            await super().start(container)
        finally:
            self.starting -= 1


async def test_starts_are_limited_while_more_attempts_run(tmp_path, job_id):
    together = anyio.Event()
    running = 0

    async def meet():
        nonlocal running
        running += 1
        if running == ATTEMPTS:
            together.set()
        await together.wait()  # every evaluator waits for all others: they do run at the same time

    dataset = load_dataset(write_task(tmp_path / "d", "", limits={"memory_mb": 128}))
    (task,) = dataset.tasks.values()
    submission = write_submission(tmp_path / "s")
    statuses = []
    async with SlowStarts() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, Runner(work=meet))
        async with bench_for(engine, dataset, job_id, tmp_path / "runs") as bench:
            limit = max(FEWEST_STARTS, bench.info.cpus)

            async def attempt(number):
                key = AttemptKey(task_id=task.task_id, submission="s", sample=number)
                target = tmp_path / "runs" / job_id / "attempts" / key.folder
                done = await score(bench, Order(key, Work(task, Sample(submission))), target, lambda *_: None)
                statuses.append(done.status)

            with anyio.fail_after(20):
                async with anyio.create_task_group() as group:
                    for number in range(1, ATTEMPTS + 1):
                        group.start_soon(attempt, number)
    assert statuses == ["PASS"] * ATTEMPTS
    assert limit < ATTEMPTS
    assert engine.most_starting == limit
