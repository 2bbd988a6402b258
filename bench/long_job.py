"""One job of 300 real attempts, as `scorehost run` makes it: its speed, its memory, and what it leaves."""

from __future__ import annotations

import time
from pathlib import Path

from bench import datasets, memory
from bench.floor import client
from bench.timing import Row
from scorehost.api import JobOutcome, Running, ScoreAsked, run

ATTEMPTS = 300
FIRST = 20  # attempts of a job before, after which whatever is loaded once has been loaded
LABEL = "scorehost.job"


async def _job(dataset: Path, out: Path, *, limit: int | None = None) -> JobOutcome:
    asked = ScoreAsked(dataset=dataset, submissions=("solution",), limit=limit)
    outcome = await run(asked, Running(out=out), lambda _event: None)
    failed = [row for row in outcome.rows if row.status != "PASS"]
    if failed or outcome.status != "complete":
        raise RuntimeError(f"{outcome.job_id} is {outcome.status}, {len(failed)} are not PASS: {failed[:1]}")
    return outcome


def left_of(job_id: str) -> int:
    """Containers, volumes and networks on the engine that carry the job's label."""
    wanted = {"label": f"{LABEL}={job_id}"}
    containers = client().containers(all=True, filters=wanted)
    volumes = client().volumes(filters=wanted)["Volumes"] or []
    return len(containers) + len(volumes) + len(client().networks(filters=wanted))


async def long_job(place: Path) -> tuple[Row, Row, Row]:
    """300 attempts with the profile and the concurrency that a user gets who sets neither."""
    dataset = datasets.write(place / "long", tasks=ATTEMPTS, warm=1)
    await _job(dataset, place / "before", limit=FIRST)
    start = memory.settled()
    memory.forget_peak()
    begun = time.perf_counter()
    outcome = await _job(dataset, place / "runs")
    wall = time.perf_counter() - begun
    most, done = memory.peak(), len(outcome.rows)
    job_id = outcome.job_id
    del outcome  # what the caller holds of the result is no growth of the controller
    end = memory.settled()
    return (
        Row(f"{ATTEMPTS} attempts in one job", "-", done / wall, 0, "/s", None, f"{wall:.0f} s in all"),
        Row(
            "controller's memory over it",
            "flat",
            end - start,
            0,
            "MiB",
            None,
            f"{start:.0f} MiB at its start, {end:.0f} at its end, {most:.0f} at most",
        ),
        Row("objects it left on the engine", "0", left_of(job_id), 0, ""),
    )
