"""HumanEval's 164 canonical solutions as one whole job, beside twice as many floors: two hosts an attempt."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench import floor, memory
from bench.timing import Row
from scorehost.api import Running, ScoreAsked, import_humaneval, run

DATA = Path(os.environ.get("SCOREHOST_DATA") or Path(__file__).parents[2] / "shared" / "data")
FILE = "HumanEval.jsonl.gz"
WORKERS = (1, 2, 3, 4, 6)
FLOORS = 40  # measured at each number of workers; the whole is reckoned from the best of them
SOME = 20  # attempts by which the product's best concurrency is found
GOAL = "1.0 or less"
HOSTS = 2  # of an attempt: the evaluator's, and the sandbox without gold


@dataclass(frozen=True, slots=True)
class Best:
    """The most that was done a second, and at how many at a time."""

    rate: float
    workers: int


async def _floors(workers: int) -> Best:
    begun = time.perf_counter()
    await anyio.to_thread.run_sync(floor.in_threads, FLOORS, workers, floor.attempt)
    return Best(FLOORS / (time.perf_counter() - begun), workers)


async def _job(dataset: Path, out: Path, workers: int, *, limit: int | None = None) -> tuple[float, int]:
    """Seconds of a whole job, from its options to its summary, and how many attempts it had."""
    asked = ScoreAsked(dataset=dataset, submissions=("solution",), limit=limit)
    running = Running(out=out, concurrency=workers)
    begun = time.perf_counter()
    outcome = await run(asked, running, lambda _event: None)
    wall = time.perf_counter() - begun
    failed = [row for row in outcome.rows if row.status != "PASS"]
    if failed:
        raise RuntimeError(f"HumanEval: {len(failed)} are not PASS: {failed[:3]}")
    return wall, len(outcome.rows)


async def humaneval(place: Path) -> Row:
    """The job's wall over 2 x 164 floors, each at its own best concurrency.

    The best of the product is found by 20 attempts at each number of workers, in turn with 40 floors. Floors
    are measured once more after the job, and the mean of both counts: minutes lie between them.
    """
    file = DATA / FILE
    what = "HumanEval / floors for its hosts"
    if not file.is_file():
        note = f"skipped: no {FILE}; SCOREHOST_DATA names the folder that has it"
        return Row(what, GOAL, None, 0, "s", None, note)
    dataset = place / "humaneval"
    import_humaneval(file, dataset)
    floors, ours = Best(0, 0), Best(0, 0)
    for workers in WORKERS:
        found = await _floors(workers)
        floors = max(floors, found, key=lambda best: best.rate)
        wall, done = await _job(dataset, place / f"some-{workers}", workers, limit=SOME)
        ours = max(ours, Best(done / wall, workers), key=lambda best: best.rate)
    memory.forget_peak()
    wall, done = await _job(dataset, place / "all", ours.workers)
    most = memory.peak()
    again = await _floors(floors.workers)
    rate = (floors.rate + again.rate) / 2
    ideal = HOSTS * done / rate
    note = (
        f"{done} attempts at {ours.workers} at a time, {done / wall:.2f} /s, controller {most:.0f} MiB; "
        f"{HOSTS * done} floors at {floors.workers} at a time, {rate:.2f} /s (from {2 * FLOORS})"
    )
    return Row(what, GOAL, wall, ideal, "s", wall / ideal, note)
