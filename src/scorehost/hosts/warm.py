"""Hosts that run ahead of need: each serves one attempt; none holds gold before it is assigned."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import structlog
from anyio.abc import TaskGroup

from scorehost.engine.door import Image, Stream
from scorehost.errors import AttemptFailed, EngineError
from scorehost.files.tree import Tree
from scorehost.hosts.admission import MemoryPool
from scorehost.hosts.blueprint import TOOLS, Blueprint
from scorehost.hosts.feed import tools_feed
from scorehost.hosts.host import Host, Site, attached, made_host, started
from scorehost.model.limits import MIB

_log = structlog.get_logger()
FRESH_SECONDS = 600.0
STARTS_AT_A_TIME = 2
CLOSE_SECONDS = 30.0


Kind = tuple[object, ...]


def kind_of(blueprint: Blueprint, image: Image) -> Kind:
    """What two hosts must have in common for one to stand for the other: all that shapes their containers."""
    limits = blueprint.limits
    return (
        image.id,
        (blueprint.evaluator, blueprint.fed, blueprint.trusted),
        (limits.memory_mb, limits.cpus, limits.pids, limits.open_files),
        (blueprint.tmpfs_mb, blueprint.tmpfs_exec, blueprint.shm_mb, blueprint.scratch),
        tuple(sorted(blueprint.env.items())),
        blueprint.user,
        blueprint.file_locks,
        blueprint.runtime,
    )


@dataclass(slots=True)
class Ready:
    """A started host with nothing but tools in it. Closing `stack` removes it."""

    host: Host
    stream: Stream | None
    stack: AsyncExitStack
    born: float = field(default_factory=time.monotonic)


Wanted = tuple[Blueprint, Image]


class WarmHosts:
    """Keeps hosts ready for the attempts that come next, within what memory is free.

    `tools` and `harness` are what is uploaded ahead: the same for every attempt, and no secret.
    """

    def __init__(self, site: Site, pool: MemoryPool, group: TaskGroup, *, tools: Tree, harness: Tree) -> None:
        self._site = site
        self._pool = pool
        self._group = group
        self._tools = {True: tools, False: harness}
        self._ready: dict[Kind, list[Ready]] = {}
        self._coming: Counter[Kind] = Counter()
        self._used: set[Kind] = set()
        self._large: set[Kind] = set()  # kinds of evaluators' hosts whose cargo was uploaded the last time
        self._starts = anyio.CapacityLimiter(STARTS_AT_A_TIME)
        self._open = True
        self.replan: Callable[[], None] = lambda: None  # called when a named host is up: the next may be made
        pool.on_pressure = self.shed

    def plan(self, wanted: Iterable[Wanted]) -> None:
        """Sees to it that these hosts become ready; named ones only if such were used before."""
        needed: Counter[Kind] = Counter()
        recipes: dict[Kind, Wanted] = {}
        for blueprint, image in wanted:
            if blueprint.copy_workspace:
                continue  # the size of its memory depends on the submission
            if blueprint.can_be_fed(image) and kind_of(blueprint, image) not in self._large:
                blueprint = replace(blueprint, fed=True)  # noqa: PLW2901 - the kind that is likely to be used
            kind = kind_of(blueprint, image)
            if blueprint.evaluator or kind in self._used:
                needed[kind] += 1
                recipes[kind] = (blueprint, image)
        for kind, count in needed.items():
            missing = count - len(self._ready.get(kind, ())) - self._coming[kind]
            for _ in range(missing):
                self._begin(kind, *recipes[kind])

    async def take(self, blueprint: Blueprint, image: Image) -> Ready | None:
        """A host of that kind that runs, has had no trouble, and is not old; None when there is none."""
        kind = kind_of(blueprint, image)
        self._used.add(kind)
        if blueprint.fed:
            self._large.discard(kind_of(replace(blueprint, fed=False), image))
        elif blueprint.evaluator:
            self._large.add(kind)
        while self._ready.get(kind):
            found = self._ready[kind].pop(0)
            self._pool.give_back(self._memory(blueprint))  # the attempt has reserved it for itself
            try:
                healthy = await self._healthy(found)
            except BaseException:
                # Nobody else knows of it any more: its attempt is cancelled, and it must go at once.
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_SECONDS):
                    await found.stack.aclose()
                raise
            if healthy:
                return found
            await found.stack.aclose()
        return None

    def shed(self) -> None:
        """Gives the memory of all idle hosts back: an attempt waits for it."""
        for hosts in self._ready.values():
            while hosts:
                found = hosts.pop()
                self._pool.give_back(self._memory(found.host.blueprint))
                self._group.start_soon(found.stack.aclose)

    async def close(self) -> None:
        """Removes what is ready; nothing becomes ready any more."""
        self._open = False
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_SECONDS):
            async with anyio.create_task_group() as group:
                for hosts in self._ready.values():
                    for found in hosts:
                        group.start_soon(found.stack.aclose)
        self._ready.clear()

    @staticmethod
    def _memory(blueprint: Blueprint) -> int:
        return blueprint.limits.memory_mb * MIB

    def _begin(self, kind: Kind, blueprint: Blueprint, image: Image) -> None:
        if self._open and self._pool.try_take(self._memory(blueprint)):
            self._coming[kind] += 1
            self._group.start_soon(self._make, kind, blueprint, image)

    async def _make(self, kind: Kind, blueprint: Blueprint, image: Image) -> None:
        kept = False
        try:
            async with self._starts, AsyncExitStack() as stack:
                if not self._open:
                    return
                found = await self._started(stack, blueprint, image)
                if self._open and not self._pool.pressed:
                    self._ready.setdefault(kind, []).append(replace(found, stack=stack.pop_all()))
                    kept = True
        except (AttemptFailed, EngineError) as error:
            # An attempt that needs such a host makes its own, and then the failure has a name.
            _log.debug("a warm host was not made", reason=error.message)
        finally:
            self._coming[kind] -= 1
            if not kept:
                self._pool.give_back(self._memory(blueprint))

    async def _started(self, stack: AsyncExitStack, blueprint: Blueprint, image: Image) -> Ready:
        tools = self._tools[blueprint.evaluator]
        trees = {} if blueprint.fed else {TOOLS: tools}
        host = await stack.enter_async_context(
            made_host(self._site, blueprint, image, trees, workspace_bytes=0)
        )
        stream = await stack.enter_async_context(attached(host)) if blueprint.evaluator else None
        await started(self._site, host)
        if blueprint.fed and stream is not None:
            await stream.send(tools_feed(tools))
        return Ready(host, stream, stack)

    async def _healthy(self, found: Ready) -> bool:
        if time.monotonic() - found.born > FRESH_SECONDS or found.host.ended:
            return False
        memory, container = found.host.memory, found.host.container
        if memory.kills(container) or memory.struck(container):
            return False
        try:
            return (await found.host.engine.inspect(found.host.container)).running
        except EngineError:
            return False


@asynccontextmanager
async def warm_hosts(site: Site, pool: MemoryPool, *, tools: Tree, harness: Tree) -> AsyncIterator[WarmHosts]:
    """Warm hosts of one job, all removed at the end of the block."""
    async with anyio.create_task_group() as group:
        warm = WarmHosts(site, pool, group, tools=tools, harness=harness)
        try:
            yield warm
        finally:
            await warm.close()
            group.cancel_scope.cancel()
