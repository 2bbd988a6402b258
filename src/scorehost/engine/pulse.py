"""Whether the engine is there at all: asked when an answer stays away, so that a slow engine is told from
one that hangs (stopped, or stuck), for which nobody waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from scorehost.errors import EngineError, EngineHangs, EngineTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scorehost.engine.endpoint import Endpoint

STALL_SECONDS = 10.0  # without any progress of a call, until the engine is asked whether it is there
PING_SECONDS = 5.0  # for an engine that is there to say so, on a machine that is busy
# What a close may take when the engine hangs: a person waits for it, and whatever is left carries its labels.
CLOSE_SECONDS = 2.0  # for ending and removing together, when the engine hangs
_SOON = CLOSE_SECONDS / 4  # of that, until the engine is asked
REMEMBER_SECONDS = 5.0  # so long after it was found to hang, the engine is not asked again by every call


class Pulse:
    """Of one engine. `ping` asks it for the shortest of its answers on a connection of its own."""

    def __init__(self, endpoint: Endpoint, ping: Callable[[], Awaitable[object]]) -> None:
        self._endpoint = endpoint
        self._ping = ping
        self._asking = anyio.Lock()
        self._beat_at = float("-inf")
        # Apart: closes have little patience, and what they give up is no reason for anybody else to.
        self._missed_at = {True: float("-inf"), False: float("-inf")}

    def fresh(self, doing: str, *, closing: bool = False) -> None:
        """EngineHangs, at once, while the engine is known to hang, by the patience of such a call."""
        missed = max(self._missed_at.values()) if closing else self._missed_at[False]
        if anyio.current_time() - missed < REMEMBER_SECONDS:
            raise self._hung(doing, 0.0)

    def patience(self, *, closing: bool) -> float:
        """How long to wait for progress until `check` is asked."""
        return _SOON if closing else STALL_SECONDS

    async def check(self, doing: str, *, closing: bool = False) -> None:
        """Asks the engine, unless somebody did meanwhile. EngineHangs when it does not answer.

        One that answers with an error, or cannot be connected to, is there, or gone: the call that waits
        learns that by itself.
        """
        asked_at = anyio.current_time()
        seconds = CLOSE_SECONDS - _SOON if closing else PING_SECONDS
        with anyio.move_on_after(seconds) as scope:
            async with self._asking:
                if self._beat_at >= asked_at:
                    return
                try:
                    await self._ping()
                except EngineTimeout:
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
                except EngineError:
                    return
                self._beat_at = anyio.current_time()
                self._missed_at = dict.fromkeys(self._missed_at, float("-inf"))
        if scope.cancelled_caught:
            self._missed_at[closing] = anyio.current_time()
            raise self._hung(doing, seconds)

    def _hung(self, doing: str, seconds: float) -> EngineHangs:
        text = f", nor within {seconds:g} s when asked whether it is there" if seconds else ""
        return EngineHangs(
            f"The Docker engine at {self._endpoint} hangs: it did not answer when asked to {doing}{text}.",
            hint="See what holds it: `docker ps` should answer at once; its process may be stopped.",
        )
