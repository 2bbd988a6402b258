"""`python -m bench.calls`: one attempt by API call, how often and how long: cold, warm, two stages."""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from bench import datasets
from bench.product import scoring
from scorehost.engine.door import Engine
from scorehost.engine.opening import open_engine

ATTEMPTS = 12
Taken = dict[str, list[float]]


class Timed:
    """An engine whose calls are timed; of a stream, until it is open."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.taken: Taken = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._engine, name)
        if not callable(call) or name == "give_up":
            return call

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            made = call(*args, **kwargs)
            return self._opened(name, begun, made) if _is_stream(made) else self._awaited(name, begun, made)

        return timed

    async def _awaited(self, name: str, begun: float, made: Any) -> Any:
        try:
            return await made
        finally:
            self.taken[name].append(time.perf_counter() - begun)

    @asynccontextmanager
    async def _opened(self, name: str, begun: float, made: Any) -> AsyncIterator[Any]:
        async with made as stream:
            self.taken[name].append(time.perf_counter() - begun)
            yield stream


def _is_stream(made: Any) -> bool:
    return isinstance(made, AbstractAsyncContextManager) and not inspect.isawaitable(made)


async def profile(dataset: Path, *, pause: float = 0.0) -> tuple[float, dict[str, tuple[float, float]]]:
    """Median milliseconds of an attempt; for each call how often an attempt makes it, and its median.

    What is made ahead for the next attempt is counted where it falls. `pause` seconds lie between attempts.
    """
    whole: list[float] = []
    async with open_engine() as engine:
        timed = Timed(engine)
        async with scoring(dataset, timed) as product:  # type: ignore[arg-type]
            await product.one()
            await anyio.sleep(pause)
            timed.taken.clear()
            for _ in range(ATTEMPTS):
                begun = time.perf_counter()
                await product.one()
                whole.append(time.perf_counter() - begun)
                await anyio.sleep(pause)
            calls = {name: (len(row) / ATTEMPTS, median(row) * 1e3) for name, row in timed.taken.items()}
    return median(whole) * 1e3, calls


async def main() -> None:
    """Prints the tables."""
    with TemporaryDirectory(prefix="scorehost-bench-") as place:
        root = Path(place)
        two = {"evaluator": datasets.TWO_STAGE, **datasets.two_stages()}
        kinds = (
            ("cold", datasets.write(root / "cold"), 0.0),
            ("warm hosts, each ready when its attempt begins", datasets.write(root / "warm", warm=1), 1.5),
            ("two stages, cold", datasets.write(root / "two", **two), 0.0),
            ("two stages, each host ready", datasets.write(root / "two-warm", warm=1, **two), 3.0),
        )
        for name, dataset, pause in kinds:
            whole, calls = await profile(dataset, pause=pause)
            print(f"\n{name}: {whole:.0f} ms an attempt\n{'call':<16}{'an attempt':>12}{'median ms':>12}")
            for call, (often, each) in sorted(calls.items(), key=lambda row: -row[1][0] * row[1][1]):
                print(f"{call:<16}{often:>12.2f}{each:>12.1f}")


if __name__ == "__main__":
    anyio.run(main)
