"""Plain calls: one request, one JSON answer, on a connection of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import anyio

from scorehost.aio.retry import Retry
from scorehost.engine.wire import Request, exchange
from scorehost.errors import EngineHangs, EngineRefused, EngineTimeout, EngineUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorehost.engine.endpoint import Endpoint
    from scorehost.engine.pulse import Pulse

ANSWER_SECONDS = 30.0  # for what the engine answers from memory
START_SECONDS = 120.0  # a loaded machine starts containers slowly; the caller's own limit is shorter
REMOVE_SECONDS = 60.0
ANSWER_BYTES = 256 * 1024 * 1024  # a list of 100,000 containers
RETRY = Retry(3, pause=0.1, growth=5)  # of a call that may be asked again
BRIEFLY_UNAVAILABLE = frozenset({500, 503})
QUICK_CALLS = 24
SLOW_CALLS = 24


@dataclass(frozen=True, slots=True)
class Call:
    """One plain call. `doing` finishes "asked to …" in messages; `again` allows a second try; `closing` ends
    or removes something, and is not waited for when the engine hangs.
    """

    doing: str
    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    seconds: float = ANSWER_SECONDS
    again: bool = False
    closing: bool = False
    lane: Literal["quick", "slow"] = "quick"


class Caller:
    """Makes plain calls, so many at a time in each lane that slow starts never hold up a kill."""

    def __init__(self, endpoint: Endpoint, prefix: str, pulse: Pulse) -> None:
        self._endpoint = endpoint
        self._prefix = prefix
        self._pulse = pulse
        self._lanes = {"quick": anyio.CapacityLimiter(QUICK_CALLS), "slow": anyio.CapacityLimiter(SLOW_CALLS)}
        self._waiting: set[anyio.CancelScope] = set()
        self._given_up = False

    def give_up(self) -> None:
        """Every call that waits, and every later one, raises EngineUnreachable at once."""
        self._given_up = True
        for scope in self._waiting:
            scope.cancel()

    async def call(self, call: Call) -> Any:
        """The JSON value of the answer (None when it has no body), raising only engine errors.

        One that may be asked again is: once or twice after a lost connection or a 500 or 503, and once when
        the answer did not come in time, unless the engine hangs.
        """
        tried, late = 0, False
        while True:
            tried += 1
            last = not call.again or RETRY.after(tried) is None
            try:
                return await self._once(call)
            except EngineHangs:
                raise
            except EngineTimeout:
                if late or last:
                    raise
                late = True
            except (EngineUnreachable, EngineRefused) as error:
                gone = isinstance(error, EngineRefused) and error.status not in BRIEFLY_UNAVAILABLE
                if gone or last:
                    raise
            if not self._given_up:
                await RETRY.wait(tried)

    async def _once(self, call: Call) -> Any:
        with anyio.CancelScope() as scope:
            if not self._given_up:
                self._waiting.add(scope)
                try:
                    async with self._lanes[call.lane]:
                        return await self._ask(call)
                finally:
                    self._waiting.discard(scope)
        raise EngineUnreachable(f"The Docker engine did not {call.doing} before it was given up.")

    async def _ask(self, call: Call) -> Any:
        query = f"?{urlencode(call.params)}" if call.params else ""
        data = b"" if call.body is None else json.dumps(call.body).encode()
        request = Request(
            call.doing,
            call.method,
            f"{self._prefix}{call.path}{query}",
            {} if call.body is None else {"Content-Type": "application/json"},
            body=(data,),
            length=len(data),
            head_seconds=call.seconds,
            closing=call.closing,
        )
        async with exchange(self._endpoint, request, self._pulse) as response:
            try:
                with anyio.fail_after(call.seconds):
                    body = await response.read(ANSWER_BYTES)
            except TimeoutError as error:
                raise response.translated(error) from error
            try:
                return json.loads(body) if body else None
            except (ValueError, RecursionError):
                raise response.broken("answers with what is not JSON") from None
