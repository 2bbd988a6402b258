"""A warm host whose attempt is cancelled while it is looked at goes at once, not at the end of the job."""

from __future__ import annotations

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


class NeverLookedAt(MemoryEngine):
    """An engine that does not answer to a look at a container."""

    hangs = False

    async def inspect(self, container):
        if self.hangs:
            await anyio.sleep_forever()
        return await super().inspect(container)


async def waits(context):
    await context.sleep(600)


@pytest.mark.anyio
async def test_a_cancel_while_a_warm_host_is_looked_at_removes_it():
    plan = Blueprint(name="evaluator", image=IMAGE, limits=Limits(), tmpfs_mb=16, evaluator=True)
    async with NeverLookedAt() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, waits)
        image = await engine.image(IMAGE)
        async with watch_memory(engine, "j") as memory:
            site = Site(engine, memory, "j", "spare", warn=list, timing=lambda _phase, _seconds: None)
            async with warm_hosts(site, MemoryPool(8 << 30), tools=tools()[0], harness=tools()[1]) as warm:
                warm.plan([(plan, image)])
                for _ in range(500):
                    if any(row.running for row in await engine.list_containers({})):
                        break
                    await anyio.sleep(0.01)
                await anyio.sleep(0.05)  # until it is among those that are ready
                engine.hangs = True
                with anyio.move_on_after(0.05):
                    await warm.take(replace(plan, fed=True), image)
                assert await engine.list_containers({}) == []
