"""Which kind of host is made ahead: the one that the last attempt needed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest

from scorehost.engine.memory import MemoryEngine
from scorehost.hosts.admission import MemoryPool
from scorehost.hosts.blueprint import Blueprint
from scorehost.hosts.cargo import tools
from scorehost.hosts.host import Site
from scorehost.hosts.memory_watch import watch_memory
from scorehost.hosts.warm import warm_hosts
from scorehost.model.limits import Limits
from trial import IMAGE

pytestmark = pytest.mark.anyio
UPLOADED = Blueprint(name="evaluator", image=IMAGE, limits=Limits(), tmpfs_mb=16, evaluator=True)
FED = replace(UPLOADED, fed=True)


async def waits(context):
    await context.sleep(600)


@asynccontextmanager
async def made():
    runner, harness = tools()
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, waits)
        async with watch_memory(engine, "j") as memory:
            site = Site(engine, memory, "j", "spare", warn=list, timing=lambda _phase, _seconds: None)
            async with warm_hosts(site, MemoryPool(64 << 30), tools=runner, harness=harness) as warm:
                yield engine, await engine.image(IMAGE), warm


async def taken(warm, plan, image):
    """A warm host of that kind, or None when none becomes ready in a second."""
    for _ in range(100):
        found = await warm.take(plan, image)
        if found is not None:
            return found
        await anyio.sleep(0.01)
    return None


async def test_a_host_that_takes_its_files_over_the_channel_is_made_first():
    async with made() as (engine, image, warm):
        warm.plan([(UPLOADED, image)])
        found = await taken(warm, FED, image)
        assert found is not None
        assert engine.calls["upload"] == 0
        await found.stack.aclose()


async def test_after_large_cargo_a_host_to_upload_to_is_made_and_after_small_cargo_again_the_other():
    async with made() as (engine, image, warm):
        assert await warm.take(UPLOADED, image) is None  # an attempt with large cargo came, and found none
        warm.plan([(UPLOADED, image)])
        found = await taken(warm, UPLOADED, image)
        assert found is not None
        assert engine.calls["upload"] == 1  # runner and SDK, ahead
        await found.stack.aclose()
        assert await warm.take(FED, image) is None
        warm.plan([(UPLOADED, image)])
        found = await taken(warm, FED, image)
        assert found is not None
        await found.stack.aclose()
        assert await engine.list_containers({}) == []
