"""Waits for an engine that stopped answering: one asks, everyone waits for the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from scorehost.aio.retry import Retry
from scorehost.errors import EngineError

if TYPE_CHECKING:
    from scorehost.jobs.scoring import Clock, Ping

PATIENCE_SECONDS = 60.0  # how long an engine may be gone before the job ends
ASK_AGAIN = Retry(None, pause=1.0)
PING_SECONDS = 10.0


@dataclass(slots=True)
class _Trial:
    done: anyio.Event = field(default_factory=anyio.Event)
    answered: bool = False


class EngineGate:
    """Open while the engine answers."""

    def __init__(self, ping: Ping, clock: Clock) -> None:
        self._ping = ping
        self._clock = clock
        self._trial: _Trial | None = None

    async def passable(self) -> bool:
        """True at once while nobody doubts the engine; else what the trial that runs comes to."""
        return True if self._trial is None else await self.recovered()

    async def recovered(self) -> bool:
        """Asks the engine until it answers (True) or has been silent for `PATIENCE_SECONDS` (False)."""
        if self._trial is not None:
            trial = self._trial
            await trial.done.wait()
            return trial.answered
        trial = self._trial = _Trial()
        try:
            waited, since, asked = 0.0, self._clock.now(), 0
            while not (await self._answers()):
                if waited >= PATIENCE_SECONDS:
                    return False
                asked += 1
                pause = ASK_AGAIN.after(asked) or 0.0
                await self._clock.sleep(pause)
                # A clock that steps (a machine that slept, say) is no time in which the engine was asked.
                now = self._clock.now()
                waited += min(max(now - since, 0.0), PING_SECONDS + pause)
                since = now
            trial.answered = True
        finally:
            self._trial = None
            trial.done.set()
        return True

    async def _answers(self) -> bool:
        with anyio.move_on_after(PING_SECONDS):
            try:
                await self._ping()
            except EngineError:
                return False
            return True
        return False
