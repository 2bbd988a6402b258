"""How many calls of a role run at a time, and how many begin in a minute."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class Pace:
    """Turns for calls of one role, in order of asking. `max_concurrent`, `per_minute` None: no limit."""

    def __init__(self, max_concurrent: int | None, per_minute: float | None) -> None:
        self._slots = anyio.Semaphore(max_concurrent) if max_concurrent else None
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0  # on the loop's clock: when the next call may begin

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Waits until a call may begin, and holds its slot; gives the seconds that it waited."""
        began = anyio.current_time()
        if self._slots is not None:
            await self._slots.acquire()
        try:
            await self._gate()
            yield anyio.current_time() - began
        finally:
            if self._slots is not None:
                self._slots.release()

    async def _gate(self) -> None:
        if not self._gap:
            return
        now = anyio.current_time()
        mine = max(now, self._next)
        self._next = mine + self._gap  # taken before the wait, so that nobody else takes it meanwhile
        await anyio.sleep(mine - now)
