"""Plain calls: one request, one JSON answer, through the docker SDK's session in a thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio

from scorehost.aio.retry import Retry
from scorehost.aio.threads import in_thread
from scorehost.engine.translate import FOREIGN, translated
from scorehost.errors import EngineError, EngineRefused, EngineTimeout, EngineUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import docker
    import requests

    from scorehost.engine.endpoint import Endpoint

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0  # for what the engine answers from memory
START_SECONDS = 120.0  # a loaded machine starts containers slowly; the caller's own limit is shorter
REMOVE_SECONDS = 60.0
RETRY = Retry(3, pause=0.1, growth=5)  # of a call that may be asked again
BRIEFLY_UNAVAILABLE = frozenset({500, 503})
QUICK_THREADS = 24
SLOW_THREADS = 24


@dataclass(frozen=True, slots=True)
class Call:
    """One plain call. `doing` finishes "asked to …" in messages; `again` allows a second try."""

    doing: str
    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    seconds: float = ANSWER_SECONDS
    again: bool = False
    lane: Literal["quick", "slow"] = "quick"


class Caller:
    """Makes plain calls, each in a thread of its lane, so that slow starts never hold up a kill."""

    def __init__(self, client: docker.APIClient, endpoint: Endpoint, prefix: str) -> None:
        self._client = client
        self._endpoint = endpoint
        self._base = f"{client.base_url}{prefix}"
        self._lanes = {
            "quick": anyio.CapacityLimiter(QUICK_THREADS),
            "slow": anyio.CapacityLimiter(SLOW_THREADS),
        }
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
        the answer did not come in time.
        """
        tried, late = 0, False
        while True:
            tried += 1
            last = not call.again or RETRY.after(tried) is None
            try:
                return await self._once(call)
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
        outcome: Any = None
        with anyio.CancelScope() as scope:
            if not self._given_up:
                self._waiting.add(scope)
                try:
                    outcome = await in_thread(lambda: self._ask(call), self._lanes[call.lane])
                finally:
                    self._waiting.discard(scope)
        if self._given_up and outcome is None:
            raise EngineUnreachable(f"The Docker engine did not {call.doing} before it was given up.")
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome

    def _ask(self, call: Call) -> Any:
        # An error is returned, not raised: nobody may be waiting for this thread any more.
        try:
            answer: requests.Response = self._client.request(
                call.method,
                self._base + call.path,
                params=dict(call.params),
                json=call.body,
                timeout=(CONNECT_SECONDS, call.seconds),
            )
            answer.raise_for_status()
            return answer.json() if answer.content else None
        except FOREIGN as error:
            return translated(error, doing=call.doing, endpoint=self._endpoint)
