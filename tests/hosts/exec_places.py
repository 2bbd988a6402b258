"""Hosts on the in-memory engine in which a test runs programs, and the requests of an evaluator to them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from scorehost.engine.memory import MemoryEngine
from scorehost.files.tree import Tree
from scorehost.hosts.blueprint import Blueprint
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.host import Site, made_host, started
from scorehost.hosts.images import Images
from scorehost.hosts.memory_watch import watch_memory
from scorehost.hosts.named import NamedHosts
from scorehost.hosts.requests import Requests
from scorehost.model.limits import Limits
from trial import IMAGE


async def sleeps(context):
    await context.sleep(600)


async def succeeds(_context):
    return 0


@asynccontextmanager
async def site_on(program, warnings):
    """A site whose hosts' execs play `program`, except `sleep` and `true`."""
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, sleeps)
        engine.program(lambda launch: not launch.main, program)
        engine.program(lambda launch: launch.argv in (("sleep", "0"), ("true",)), succeeds)
        async with watch_memory(engine, "j") as memory:
            yield Site(engine, memory, "j", "s", warn=warnings.append, timing=lambda *_: None)


async def dies_inside(engine, container):
    """The host's main process ends by what runs in it: nobody gives the engine an order."""
    found = engine._find(container)
    found.process.kill()
    await found.process.ended.wait()


@asynccontextmanager
async def one_host(program):
    """One running host."""
    async with site_on(program, []) as site:
        plan = Blueprint(name="work", image=IMAGE, limits=Limits(), tmpfs_mb=16)
        image = await site.engine.image(IMAGE)
        async with made_host(site, plan, image, {}, workspace_bytes=0) as host:
            await started(site, host)
            yield host


@dataclass
class Place:
    """What an evaluator has: requests to the named host `work`, and what came of them."""

    engine: MemoryEngine
    named: NamedHosts
    requests: Requests
    warnings: list[str]


@asynccontextmanager
async def named_host(program, *, agents=None, limits=None, **plan):
    """The requests of an evaluator with the named host `work`."""
    warnings: list[str] = []
    async with site_on(program, warnings) as site:
        limits = limits or Limits()
        blueprint = Blueprint(name="work", image=IMAGE, limits=limits, tmpfs_mb=16, **plan)
        nothing = Tree()
        named = NamedHosts(
            site,
            blueprints={"work": blueprint},
            images=Images(site.engine, Path()),
            cargo=Cargo(nothing, nothing, nothing, nothing, nothing, nothing),
            clock=StandingClock(60),
            keep=lambda *_: None,
        )
        requests = Requests(named, None, single=False, limits=Limits(), agents=agents)
        try:
            yield Place(site.engine, named, requests, warnings)
        finally:
            await named.remove()
