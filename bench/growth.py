"""`python -m bench.growth`: how an attempt grows with sizes, files, named hosts and concurrency."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from bench import datasets
from bench.product import scoring

MIB = 1 << 20
RUNS = 5
SIZES = (0, 64 << 10, MIB, MIB + 1, 10 * MIB, 100 * MIB)
FILES = (1, 100, 1_000, 5_000)
HOSTS = (0, 1, 2, 3, 4)
WORKERS = (1, 2, 3, 4, 6, 8)
MANY = 40
EACH_ONCE = """
    def evaluate(inputs):
        for name in %r:
            assert inputs["scoring"].exec(name, ["true"]).ok
        return {"status": "PASS"}
"""


async def _median(dataset: Path, folder: Path | None = None) -> float:
    taken = []
    async with scoring(dataset) as product:
        await product.one(folder=folder)
        for _ in range(RUNS):
            begun = time.perf_counter()
            await product.one(folder=folder)
            taken.append(time.perf_counter() - begun)
    return median(taken) * 1e3


async def _sizes(root: Path) -> None:
    dataset = datasets.write(root / "sizes")
    for size in SIZES:
        folder = root / f"size-{size}"
        (folder / "artifacts").mkdir(parents=True)
        (folder / "artifacts" / "answer.txt").write_bytes(b"x" * size)
        print(f"artifact of {size / MIB:8.2f} MiB: {await _median(dataset, folder):8.0f} ms")


async def _files(root: Path) -> None:
    tree: dict[str, Any] = {"publishable": [{"id": "answer", "path": "artifacts", "kind": "tree"}]}
    dataset = datasets.write(root / "files", artifacts=tree)
    for count in FILES:
        folder = root / f"files-{count}"
        (folder / "artifacts").mkdir(parents=True)
        for number in range(count):
            (folder / "artifacts" / f"{number}.txt").write_text(str(number))
        print(f"folder of {count:5} files:      {await _median(dataset, folder):8.0f} ms")


async def _hosts(root: Path) -> None:
    for count in HOSTS:
        names = tuple(f"host{number}" for number in range(count))
        spec: dict[str, Any] = {}
        if names:
            spec["evaluation"] = {"environments": {name: {"docker_image": datasets.IMAGE} for name in names}}
        for warm in (0, 1):
            place = root / f"hosts-{count}-{warm}"
            dataset = datasets.write(place, evaluator=EACH_ONCE % (names,), warm=warm, **spec)
            print(f"{count} named hosts, warm {warm}:      {await _median(dataset):8.0f} ms")


async def _concurrency(root: Path) -> None:
    dataset = datasets.write(root / "many", warm=1)
    async with scoring(dataset) as product:
        await product.many(8, 2)
        for workers in WORKERS:
            print(f"{workers} at a time:             {await product.many(MANY, workers):8.2f} attempts/s")


async def main() -> None:
    """Prints the rows."""
    with TemporaryDirectory(prefix="scorehost-bench-") as place:
        root = Path(place)
        await _sizes(root)
        await _files(root)
        await _hosts(root)
        await _concurrency(root)


if __name__ == "__main__":
    anyio.run(main)
