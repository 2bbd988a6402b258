"""A runner that a test scripts, as a program of the in-memory engine; and attempts on that engine."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import IMAGE, Scored, bench_for

USAGE = {"peak_memory_bytes": None, "cpu_seconds": None}
PASS = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}


@dataclass
class Runner:
    """Greets with the true digests of its folders, does `work`, tells `value` (or `error` when there is one).

    `log` goes to stderr in pieces; `last_trees` are laid over the digests of the last frame.
    """

    value: dict = field(default_factory=lambda: dict(PASS))
    error: dict | None = None
    log: tuple[bytes, ...] = ()
    last_trees: dict = field(default_factory=dict)
    work: object = None

    async def __call__(self, context):
        runner = await MemoryRunner.greeted(context)
        for piece in self.log:
            await context.write_error(piece)
        if self.work is not None:
            await self.work()
        last = {"usage": USAGE, "trees": {**runner.trees, **self.last_trees}}
        told = {"kind": "result", "value": self.value} if self.error is None else self.error
        await runner.say({**told, **last})
        return 0


@asynccontextmanager
async def memory_engine(runner=None):
    """An in-memory engine with the base image, whose containers run `runner`."""
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, runner or Runner())
        yield engine


async def scored_on(engine, root, submission, runs, job_id, *, meet=None, say=None):
    """One attempt of the dataset's only task on an engine; `meet` is called with each phase at its begin,
    `say` with what is told to who runs the job.
    """
    dataset = load_dataset(root)
    (task,) = dataset.tasks.values()
    key = AttemptKey(task_id=task.task_id, submission="s")
    told = []

    def emit(kind, fields):
        told.append((kind, fields))
        if kind == "phase" and meet is not None:
            meet(fields["phase"])

    async with bench_for(engine, dataset, job_id, runs, say) as bench:
        folder = runs / job_id / "attempts" / key.folder
        order = Order(key, Work(task, Sample(submission)))
        result = await score(bench, order, folder, emit)
    return Scored(result, folder, told)
