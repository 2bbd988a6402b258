"""What the engine's events tell: kills for memory, times of execs, and orders that were not ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import structlog
from anyio.abc import TaskGroup

from scorehost.aio.retry import Retry
from scorehost.engine.door import Engine, Event
from scorehost.errors import EngineError
from scorehost.hosts import labels
from scorehost.hosts.usage import local_peak

_log = structlog.get_logger()
RECONNECT = Retry(None, pause=1.0)
OOM_LIMIT = 10
NEAR_SECONDS = 2.0  # connections that one cause breaks are seen to break within so long
EVENT_SECONDS = 0.5  # from the engine's knowing of an end to its event
# What the engine is told to do with a container by `docker kill`, `stop`, `rm`, `restart` and `pause`.
ORDERS = frozenset({"kill", "stop", "destroy", "restart", "pause"})
ENDS = frozenset({"die", "destroy"})


class MemoryWatch:
    """What was killed, by container id."""

    def __init__(self) -> None:
        self._kills: Counter[str] = Counter()
        self._struck: set[str] = set()
        self._ours: set[str] = set()  # containers that scorehost itself has ended or removed
        self._dead: set[str] = set()
        self._lives: set[str] = set()  # containers that have been started
        self._restarted: set[str] = set()
        self._peaks: dict[str, int] = {}
        self._broke_at = -math.inf
        self._guarded: dict[str, Callable[[], Awaitable[None]]] = {}
        self._begun: dict[str, dict[str, float]] = {}  # of execs, by container
        self._over: dict[str, dict[str, float]] = {}
        self._changed = anyio.Event()

    def ours(self, container: str) -> None:
        """Scorehost is about to end or remove the container: orders from now on are its own."""
        self._ours.add(container)

    def struck(self, container: str) -> bool:
        """Whether somebody else had the engine end, pause or remove it: no process inside can do that."""
        return container in self._struck

    def restarted(self, container: str) -> bool:
        """Whether somebody else had the engine start it again: what it held in memory is gone."""
        return container in self._restarted

    async def struck_down(self, container: str) -> bool:
        """The same, of a container that has ended: the events of its end are waited for."""
        with anyio.move_on_after(EVENT_SECONDS):
            while not (container in self._struck or container in self._dead):
                await self._changed.wait()
        return container in self._struck

    def peak(self, container: str) -> int | None:
        """Its memory at most, in bytes, when the kernel last killed in it; None where nobody could look."""
        return self._peaks.get(container)

    def broke_near(self, moment: float) -> bool:
        """Whether the stream of events, once open, was broken off near a moment of anyio's clock.

        Then the engine itself or the way to it was lost: nothing in a container can do that.
        """
        return abs(moment - self._broke_at) < NEAR_SECONDS

    def kills(self, container: str) -> int:
        """Processes of one container that the kernel has killed for memory so far."""
        return self._kills[container]

    async def exec_seconds(self, container: str, exec_id: str) -> float | None:
        """How long a process that has ended ran, by the engine's own clock; None where no event told it."""
        if exec_id not in self._begun.get(container, {}):
            return None
        with anyio.move_on_after(EVENT_SECONDS):
            while exec_id not in self._over.get(container, {}):
                await self._changed.wait()
        over = self._over.get(container, {}).get(exec_id)
        return None if over is None else over - self._begun[container][exec_id]

    def forget(self, container: str) -> None:
        """The container is gone, or nobody asks for it any more. Events of our own orders may still come."""
        self._kills.pop(container, None)
        self._begun.pop(container, None)
        self._over.pop(container, None)
        self._guarded.pop(container, None)
        self._peaks.pop(container, None)
        self._struck.discard(container)
        self._dead.discard(container)
        self._lives.discard(container)
        self._restarted.discard(container)

    def begin_anew(self, container: str) -> None:
        """The container is about to be started again: what was told and ordered is of its life before."""
        self.forget(container)
        self._ours.discard(container)

    def guard(self, container: str, end: Callable[[], Awaitable[None]]) -> None:
        """Calls `end` once the kernel killed `OOM_LIMIT` processes of it: more of that only wastes time."""
        self._guarded[container] = end

    def _tell(self, container: str, group: TaskGroup) -> None:
        self._kills[container] += 1
        # Now: its control group goes with it.
        self._peaks[container] = max(self._peaks.get(container, 0), local_peak(container) or 0)
        if self._kills[container] >= OOM_LIMIT and container in self._guarded:
            group.start_soon(_ended, self._guarded.pop(container))

    def _begin(self, container: str) -> None:
        """Its first start is ours, and so is one that it was to `begin_anew` with; no other is."""
        if container in self._lives:
            self._struck.add(container)
            self._restarted.add(container)
            self._announce()
            return
        self._lives.add(container)
        # Events keep their order: what was told before is of the container's life before.
        self._kills.pop(container, None)
        self._struck.discard(container)
        self._dead.discard(container)

    def _note(self, event: Event) -> None:
        """Keeps who gave orders, and that a container has ended."""
        if event.action in ORDERS and event.container not in self._ours:
            self._struck.add(event.container)
        if event.action == "destroy":
            self._ours.discard(event.container)  # its last event
        if event.action in ENDS:
            self._dead.add(event.container)
        if event.action in ORDERS | ENDS:
            self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def _time(self, event: Event) -> None:
        """Keeps when a process began and ended. An exec's events name it; the action's rest is its words."""
        what, exec_id = event.action.partition(":")[0], event.attributes.get("execID", "")
        if what == "exec_start":
            self._begun.setdefault(event.container, {})[exec_id] = event.at
        elif what == "exec_die" and exec_id in self._begun.get(event.container, {}):
            self._over.setdefault(event.container, {})[exec_id] = event.at
            self._announce()

    async def _follow(self, engine: Engine, job: str, group: TaskGroup) -> None:
        while True:
            opened = False
            try:
                async with engine.events({labels.JOB: job}) as events:
                    opened = True
                    async for event in events:
                        if event.action == "start":
                            self._begin(event.container)
                        elif event.action == "oom":
                            self._tell(event.container, group)
                        else:
                            self._note(event)
                            self._time(event)
            except EngineError as error:
                # Without events the engine's own flag still tells; the stream is only finer.
                _log.debug("event stream lost", reason=error.message)
            if opened:
                self._broke_at = anyio.current_time()
            await RECONNECT.wait(1)


async def _ended(end: Callable[[], Awaitable[None]]) -> None:
    try:
        await end()
    except EngineError as error:
        # Its limits of time hold all the same, and its removal comes with the attempt's end.
        _log.warning("a host that ran out of memory again and again was not ended", reason=error.message)


@asynccontextmanager
async def watch_memory(engine: Engine, job: str) -> AsyncIterator[MemoryWatch]:
    """Follows the events of one job's containers while the block runs."""
    watch = MemoryWatch()
    async with anyio.create_task_group() as group:
        group.start_soon(watch._follow, engine, job, group)  # noqa: SLF001 - its own class, one file
        try:
            yield watch
        finally:
            group.cancel_scope.cancel()
