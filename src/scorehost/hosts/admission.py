"""Memory of the engine's machine, lent to attempts so that all hosts together stay below a share of it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

SHARE = 0.8  # of the engine's memory; the rest is the engine's own and that of the machine


class MemoryPool:
    """Bytes to lend. Who waits is served in order: a large attempt is not starved by small ones."""

    def __init__(self, engine_memory: int) -> None:
        self.capacity = int(engine_memory * SHARE)
        self._free = self.capacity
        self._queue: deque[tuple[int, anyio.Event]] = deque()
        self.on_pressure: Callable[[], None] = lambda: None  # called when somebody has to wait

    @asynccontextmanager
    async def reserved(self, size: int) -> AsyncIterator[None]:
        """Holds `size` bytes while the block runs; waits until they are free.

        Raises ValueError for more than the pool can ever lend: such a task is refused before a job begins.
        """
        if size > self.capacity:
            raise ValueError(f"{size} bytes are more than the {self.capacity} that hosts may have in all")
        await self._take(size)
        try:
            yield
        finally:
            self.give_back(size)

    @property
    def pressed(self) -> bool:
        """Whether somebody waits."""
        return bool(self._queue)

    def try_take(self, size: int) -> bool:
        """Takes `size` bytes if they are free and nobody waits; the caller gives them back."""
        if self._queue or size > self._free:
            return False
        self._free -= size
        return True

    def hold(self, size: int) -> None:
        """Takes `size` bytes that are in use, whether they are free or not; the caller gives them back."""
        self._free -= size

    async def _take(self, size: int) -> None:
        if self.try_take(size):
            return
        turn = (size, anyio.Event())
        self._queue.append(turn)
        self.on_pressure()
        try:
            await turn[1].wait()
        except BaseException:
            if turn in self._queue:
                self._queue.remove(turn)
                self._serve()
            else:
                self.give_back(size)  # its turn came in the very moment in which it was cancelled
            raise

    def give_back(self, size: int) -> None:
        """Returns bytes that were taken, and lets in who waits."""
        self._free += size
        self._serve()

    def _serve(self) -> None:
        while self._queue and self._queue[0][0] <= self._free:
            size, turn = self._queue.popleft()
            self._free -= size
            turn.set()
