"""A runner that a test scripts, as a program of the in-memory engine; and attempts on that engine."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from scorehost.attempt.order import Order, Source
from scorehost.attempt.score import score
from scorehost.engine.memory import MemoryEngine
from scorehost.model.ids import AttemptKey
from scorehost.spec.loading import load_dataset
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
        start = json.loads(await context.read_exactly(int.from_bytes(await context.read_exactly(4), "big")))
        speak = _Voice(context, bytes.fromhex(start["key"]))
        trees = {folder: digest_of(context.files, folder) for folder in start["trees"]}
        await speak({"kind": "hello", "python": "3.11.2", "trees": trees, "dumpable": False})
        for piece in self.log:
            await context.write_error(piece)
        if self.work is not None:
            await self.work()
        last = {"usage": USAGE, "trees": {**trees, **self.last_trees}}
        told = {"kind": "result", "value": self.value} if self.error is None else self.error
        await speak({**told, **last})
        return 0


class _Voice:
    def __init__(self, context, key):
        self._context, self._key, self._counter = context, key, 0

    async def __call__(self, document):
        body = json.dumps(document).encode()
        counter = self._counter.to_bytes(8, "big")
        mac = hmac.new(self._key, counter + body, hashlib.sha256).hexdigest().encode()
        self._counter += 1
        await self._context.write((64 + len(body)).to_bytes(4, "big") + mac + body)


def digest_of(files, folder):
    """The digest of docs/architecture.md, over a folder of an in-memory container."""
    whole = hashlib.sha256()
    prefix = folder + "/"
    for path in sorted(path.encode() for path in files.below(folder)):
        content = hashlib.sha256(files.read(path.decode())).hexdigest().encode()
        mode = b"x" if files.node(path.decode()).mode & 0o100 else b"-"
        whole.update(path[len(prefix) :] + b"\0" + mode + b"\0" + content + b"\n")
    return "sha256:" + whole.hexdigest()


@asynccontextmanager
async def memory_engine(runner=None):
    """An in-memory engine with the base image, whose containers run `runner`."""
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, runner or Runner())
        yield engine


async def scored_on(engine, root, submission, runs, job_id, *, meet=None):
    """One attempt of the dataset's only task on an engine; `meet` is called with each phase at its begin."""
    dataset = load_dataset(root)
    (task,) = dataset.tasks.values()
    key = AttemptKey(task_id=task.task_id, submission="s")
    told = []

    def emit(kind, fields):
        told.append((kind, fields))
        if kind == "phase" and meet is not None:
            meet(fields["phase"])

    async with bench_for(engine, dataset, job_id, runs) as bench:
        folder = runs / job_id / "attempts" / key.folder
        order = Order(key, task, Source(submission))
        result = await score(bench, order, folder, emit)
    return Scored(result, folder, told)
