"""The rows of the table: each measures one goal of docs/performance.md, both sides in one run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import anyio

from bench import datasets, floor, timing
from bench.product import scoring
from bench.timing import Row, in_turn, one_after_another

MIB = 1024 * 1024
BIG = 200 * MIB
MANY = 40
WORKERS = (1, 2, 3, 4, 6)


async def cold(place: Path) -> Row:
    """One attempt after another, warm hosts off."""
    async with scoring(datasets.write(place / "cold")) as product:

        async def attempt() -> None:
            await product.one()

        ours, theirs = await in_turn(attempt, floor.attempt)
    return Row("attempt, warm hosts off", "1.1 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs)


async def warm(place: Path) -> Row:
    """One attempt after another, warm hosts on: each starts as soon as the one before has its verdict."""
    async with scoring(datasets.write(place / "warm", warm=1)) as product:
        ours, theirs = await in_turn(lambda: one_after_another(product.one), floor.attempt)
    return Row("attempt, warm hosts on", "0.65 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs)


async def ready(place: Path) -> Row:
    """A host that is ready: from the submission to its verdict."""
    async with scoring(datasets.write(place / "ready", warm=1)) as product:

        async def attempt() -> float:
            begun = time.perf_counter()
            result = await product.one()
            return time.perf_counter() - begun - result.timing.get("cleanup", 0.0)

        ours, theirs = await in_turn(lambda: timing.ready(attempt), floor.attempt)
    return Row(
        "a ready host: checked to bound", "0.12 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs
    )


async def throughput(place: Path) -> tuple[Row, Row]:
    """Attempts per second at the best concurrency of each side, and the controller's memory meanwhile."""
    best_floor, best_ours = (0.0, 0), (0.0, 0)
    async with scoring(datasets.write(place / "many", warm=1)) as product:
        for workers in WORKERS:
            begun = time.perf_counter()
            await anyio.to_thread.run_sync(floor.in_threads, MANY, workers, floor.attempt)
            best_floor = max(best_floor, (MANY / (time.perf_counter() - begun), workers))
            best_ours = max(best_ours, (await product.many(MANY, workers), workers))
    note = f"at {best_ours[1]} and {best_floor[1]} at a time"
    speed = Row(
        "40 attempts", "1.0 or more", best_ours[0], best_floor[0], "/s", best_ours[0] / best_floor[0], note
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return speed, Row("controller's memory so far", "90 MB or less", peak, 0, "MiB")


async def two_stages(place: Path) -> tuple[Row, Row]:
    """Audit, then verification, one attempt after another, against three floors: with the profile that users
    have, and without its warm hosts.
    """
    return (
        await _two_stages(place / "on", "two stages, warm hosts on / three floors", warm=1),
        await _two_stages(place / "off", "two stages, warm hosts off / three floors", warm=0),
    )


async def _two_stages(place: Path, what: str, *, warm: int) -> Row:
    dataset = datasets.write(place, evaluator=datasets.TWO_STAGE, warm=warm, **datasets.two_stages())
    async with scoring(dataset) as product:

        def three() -> None:
            for _ in range(3):
                floor.attempt()

        ours, theirs = await in_turn(lambda: one_after_another(product.one), three)
    return Row(what, "1.0 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs)


async def execs(place: Path) -> Row:
    """`scoring.exec` in a running host beside a raw exec."""
    dataset = datasets.write(place / "exec", evaluator=datasets.EXECS, **datasets.one_host())
    with floor.Running() as container:
        async with scoring(dataset) as product:

            async def attempt() -> float:
                return float((await product.one()).metrics["seconds"])

            def raw() -> None:
                floor.raw_exec(container, ["python3", "-c", "pass"])

            ours, theirs = await in_turn(attempt, raw)
    return Row("scoring.exec", "1.2 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs)


async def big_artifact(place: Path) -> tuple[Row, Row]:
    """200 MB handed in, beside a raw upload; memory of the controller."""
    dataset = datasets.write(place / "big")
    folder = place / "hand-in"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / "answer.txt").write_bytes(os.urandom(MIB) * (BIG // MIB))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with scoring(dataset) as product:
        result = await product.one(folder=folder)
        ours = [(await product.one(folder=folder)).timing["upload"] for _ in range(3)]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    data = (folder / "artifacts" / "answer.txt").read_bytes()
    theirs = []
    for _ in range(3):
        with floor.Running() as container:
            begun = time.perf_counter()
            floor.upload(container, data)
            theirs.append(time.perf_counter() - begun)
    mine, raw = sorted(ours)[1], sorted(theirs)[1]
    note = f"whole attempt {sum(result.timing.values()):.1f} s"
    return (
        Row("200 MB artifact, upload", "1.2 or less", mine, raw, "s", mine / raw, note),
        Row("controller's memory for it", "+32 MB at most", grown, 0, "MiB"),
    )


async def start_up(_place: Path) -> Row:
    """`scorehost --help` beside an interpreter that does nothing."""
    command = [str(Path(sys.executable).with_name("scorehost")), "--help"]

    async def help_page() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: ASYNC221 - that is what is timed

    def nothing() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    ours, theirs = await in_turn(help_page, nothing)
    return Row("scorehost --help", "6 or less", ours * 1e3, theirs * 1e3, "ms", ours / theirs)
