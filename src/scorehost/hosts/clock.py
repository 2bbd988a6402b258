"""A time limit whose clock can stand still while something else is waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

PROMPT_SECONDS = 2.0  # an engine that is asked for what takes it milliseconds, and takes longer, is late
LOOK_SECONDS = 1.0  # who looks that often, and once later by as much, was held up itself: nobody's time


class StandingClock:
    """`seconds` of running time; several pauses may overlap."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._started = False
        self._since: float | None = None
        self._pauses = 0
        self._changed = anyio.Event()
        self._asked: set[anyio.Event] = set()

    def start(self) -> None:
        """Begins to run, at once or when the last pause ends."""
        self._started = True
        if self._pauses == 0:
            self._since = anyio.current_time()
            self._announce()

    @contextmanager
    def standing(self) -> Iterator[None]:
        """The clock stands inside the block."""
        self._pauses += 1
        if self._pauses == 1 and self._since is not None:
            self._left -= anyio.current_time() - self._since
            self._since = None
            self._announce()
        try:
            yield
        finally:
            self._pauses -= 1
            if self._started:
                self.start()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """The engine is asked inside the block; what it is late is given back."""
        begun, answered = anyio.current_time(), anyio.Event()
        self._asked.add(answered)
        try:
            yield
        finally:
            self._asked.discard(answered)
            late = anyio.current_time() - begun - PROMPT_SECONDS
            if late > 0:
                self._left += late
                self._announce()
            answered.set()

    async def expired(self) -> None:
        """Returns when the time has run out, and the engine has answered all that it was asked until then."""
        while True:
            while (left := self._remaining()) > 0:
                await self._look(left)
            for answered in tuple(self._asked):
                await answered.wait()
            if self._remaining() <= 0:
                return

    async def _look(self, left: float) -> None:
        """Waits for a moment of what is left, or for a change; what this process slept over is given back."""
        if not math.isfinite(left):
            await self._changed.wait()
            return
        seconds = min(left, LOOK_SECONDS)
        due = anyio.current_time() + seconds
        with anyio.move_on_after(seconds):
            await self._changed.wait()
        late = anyio.current_time() - due
        if late > LOOK_SECONDS:
            self._left += late

    def _remaining(self) -> float:
        if self._since is None:
            return math.inf
        return self._left - (anyio.current_time() - self._since)

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
