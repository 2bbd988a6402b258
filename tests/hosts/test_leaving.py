"""Hosts that have served leave beside the job: nobody waits, nothing stays, their memory counts till then."""

from __future__ import annotations

import anyio
import pytest

from reports.memory_runner import memory_engine
from scorehost.errors import EngineTimeout
from scorehost.hosts import labels
from scorehost.hosts.admission import MemoryPool
from scorehost.hosts.blueprint import Blueprint
from scorehost.hosts.host import Site, made_host
from scorehost.hosts.leaving import MOST, leaving_hosts
from scorehost.hosts.memory_watch import watch_memory
from scorehost.model.limits import MIB, Limits
from trial import IMAGE

pytestmark = pytest.mark.anyio

PLAN = Blueprint(name="evaluator", image=IMAGE, limits=Limits(memory_mb=64), tmpfs_mb=16, evaluator=True)


class Slow:
    """An engine whose removals wait for `go`."""

    def __init__(self, engine):
        self._engine, self.go, self.asked = engine, anyio.Event(), 0

    def __getattr__(self, name):
        return getattr(self._engine, name)

    async def remove(self, container):
        self.asked += 1
        await self.go.wait()
        await self._engine.remove(container)


async def served(site, *, done=True):
    async with made_host(site, PLAN, await site.engine.image(IMAGE), {}, workspace_bytes=0) as host:
        host.served = done


async def test_a_served_host_keeps_nobody_waiting_and_is_gone_at_the_end(tmp_path, job_id):
    pool = MemoryPool(100 * 64 * MIB)  # 80 hosts
    async with memory_engine() as plain, watch_memory(plain, job_id) as memory:
        engine = Slow(plain)
        async with leaving_hosts(pool) as leaving:
            site = Site(engine, memory, job_id, "s", print, lambda *_: None, leaving=leaving)
            with anyio.fail_after(5):
                await served(site)
            assert (leaving.going, len(await plain.list_containers({labels.JOB: job_id}))) == (1, 1)
            assert not pool.try_take(80 * 64 * MIB)
            engine.go.set()
        assert await plain.list_containers({labels.JOB: job_id}) == []
        assert pool.try_take(80 * 64 * MIB)


async def test_who_has_to_leave_nothing_waits_until_all_that_leave_have_gone(tmp_path, job_id):
    async with memory_engine() as plain, watch_memory(plain, job_id) as memory:
        engine = Slow(plain)
        async with leaving_hosts(MemoryPool(1 << 40)) as leaving:
            site = Site(engine, memory, job_id, "s", print, lambda *_: None, leaving=leaving)
            await served(site)
            await served(site)

            async def let_go():
                await anyio.sleep(0.05)
                engine.go.set()

            async with anyio.create_task_group() as group:
                group.start_soon(let_go)
                with anyio.move_on_after(0.01):  # a cancel does not cut the wait short
                    await leaving.gone()
                assert leaving.going == 0
            assert await plain.list_containers({labels.JOB: job_id}) == []


async def test_a_host_that_has_not_served_is_waited_for(tmp_path, job_id):
    async with memory_engine() as plain, watch_memory(plain, job_id) as memory:
        async with leaving_hosts(MemoryPool(1 << 40)) as leaving:
            site = Site(plain, memory, job_id, "s", print, lambda *_: None, leaving=leaving)
            await served(site, done=False)
            assert await plain.list_containers({labels.JOB: job_id}) == []


async def test_no_more_than_so_many_leave_at_a_time(tmp_path, job_id):
    async with memory_engine() as plain, watch_memory(plain, job_id) as memory:
        engine = Slow(plain)
        async with leaving_hosts(MemoryPool(1 << 40)) as leaving:
            site = Site(engine, memory, job_id, "s", print, lambda *_: None, leaving=leaving)
            for _ in range(MOST):
                await served(site)
            with anyio.move_on_after(0.1) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(served, site)
                    await anyio.sleep(0.05)
                    assert (leaving.going, engine.asked) == (MOST, MOST + 1)
                    engine.go.set()
            assert not scope.cancelled_caught


@pytest.mark.parametrize("cancelled", [False, True])
async def test_what_leaves_is_removed_though_the_job_is_cancelled_or_the_engine_fails_once(
    tmp_path, job_id, cancelled
):
    pool = MemoryPool(1 << 40)
    async with memory_engine() as plain, watch_memory(plain, job_id) as memory:
        with anyio.CancelScope() as scope:
            async with leaving_hosts(pool) as leaving:
                site = Site(plain, memory, job_id, "s", print, lambda *_: None, leaving=leaving)
                if not cancelled:
                    plain.fail("remove", EngineTimeout("late", hint=""))
                await served(site)
                if cancelled:
                    scope.cancel()
        left = await plain.list_containers({labels.JOB: job_id})
        assert len(left) == (0 if cancelled else 1)  # the job's own end removes that one
        assert pool.try_take(pool.capacity)
