"""The Python API's loop on a host that is ready, beside a bare `docker run`."""

from __future__ import annotations

import time
from pathlib import Path

from bench import datasets, floor
from bench.timing import Row, in_turn, ready
from scorehost.api import open_scorer


async def scorer(place: Path) -> Row:
    """`await scorer.score(…)` from the call to its return, the host's removal included."""
    dataset = datasets.write(place / "scorer", warm=1)
    async with open_scorer(dataset) as opened:

        async def attempt() -> float:
            begun = time.perf_counter()
            scored = await opened.score("t0", {"answer": "42"})
            spent = time.perf_counter() - begun
            if scored.status != "PASS":
                raise RuntimeError(f"scorer.score: {scored.error}")
            return spent

        ours, theirs = await in_turn(lambda: ready(attempt), floor.docker_run)
    return _beside("scorer.score, a ready host", ours, theirs, "beside docker run, not the floor")


async def quicker_floor(_place: Path) -> Row:
    """The floor of who knows ADR 0014, beside the plain floor that all other rows are measured by."""

    async def quicker() -> None:
        floor.attempt(network_by_runtime=True)

    note = "left with ADR 0014, right the plain floor; no scorehost"
    return _beside("floor, network made by the runtime", *await in_turn(quicker, floor.attempt), note)


async def beside_docker_run(_place: Path) -> Row:
    """What the floor is beside `docker run --rm --network none IMAGE python3 -c pass`: no scorehost in it."""

    async def by_the_api() -> None:
        floor.attempt()

    note = "left the floor, right docker run; no scorehost"
    return _beside("floor beside docker run", *await in_turn(by_the_api, floor.docker_run), note)


def _beside(what: str, left: float, right: float, note: str) -> Row:
    return Row(what, "-", left * 1e3, right * 1e3, "ms", left / right, note)
