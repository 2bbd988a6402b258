"""Hosts that have served: removed beside the attempts that go on, so that no verdict waits for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import structlog
from anyio.abc import TaskGroup

from scorehost.aio.groups import task_group
from scorehost.errors import EngineError, NotFound
from scorehost.hosts.admission import MemoryPool
from scorehost.model.limits import MIB

if TYPE_CHECKING:
    from scorehost.hosts.host import Host

_log = structlog.get_logger()
REMOVE_SECONDS = 30.0
MOST = 16  # at a time: a job that is quicker than its engine waits for its own removals then


class Leaving:
    """Removes hosts in which nothing of an evaluation lives any more; their memory counts until then."""

    def __init__(self, group: TaskGroup, pool: MemoryPool) -> None:
        self._group = group
        self._pool = pool
        self.going = 0  # how many are on their way out
        self._went = anyio.Event()  # one of them has gone

    def take(self, host: Host) -> bool:
        """Has the host removed from now on; False when too many leave already, and the caller removes it."""
        if self.going >= MOST:
            return False
        self.going += 1
        host.memory.ours(host.container)
        self._pool.hold(host.blueprint.limits.memory_mb * MIB)
        self._group.start_soon(self._remove, host)
        return True

    async def gone(self) -> None:
        """Waits until all that leave have gone, for `REMOVE_SECONDS` at most; also under a cancel."""
        with anyio.move_on_after(REMOVE_SECONDS, shield=True):
            while self.going:
                await self._went.wait()

    async def _remove(self, host: Host) -> None:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + REMOVE_SECONDS) as scope:
            try:
                await host.engine.remove(host.container)
            except NotFound:
                pass
            except EngineError as error:
                # The end of the job tries again, and names the command that finishes it.
                _log.warning("a host was not removed", host=host.name, reason=error.message)
        if scope.cancelled_caught:
            _log.warning("a host was not removed", host=host.name, reason="the engine did not answer")
        host.memory.forget(host.container)
        self._pool.give_back(host.blueprint.limits.memory_mb * MIB)
        self.going -= 1
        self._went.set()
        self._went = anyio.Event()


@asynccontextmanager
async def leaving_hosts(pool: MemoryPool) -> AsyncIterator[Leaving]:
    """What removes the hosts of one job; its end waits until all of them are gone."""
    async with task_group() as group:
        yield Leaving(group, pool)
