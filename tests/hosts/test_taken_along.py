"""What is told of a process whose host ended before it, with it, or as it was to begin."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest

from hosts.exec_places import dies_inside
from scorehost.engine.memory import MemoryEngine
from scorehost.hosts.blueprint import Blueprint
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.host import Site, made_host, started
from scorehost.hosts.memory_watch import watch_memory
from scorehost.hosts.processes import Process
from scorehost.model.limits import Limits
from trial import IMAGE

pytestmark = pytest.mark.anyio
ORDER = ExecOrder(("work",), seconds=5, keep=1000)


async def not_started(context):
    await context.write(b"the engine's words")
    return 126


async def ends_of_itself(_context):
    return 0


async def sleeps(context):
    await context.sleep(600)


@asynccontextmanager
async def running(program=ends_of_itself):
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, sleeps)
        engine.program(lambda launch: not launch.main, program)
        async with watch_memory(engine, "j") as memory:
            site = Site(engine, memory, "j", "s", warn=list, timing=lambda _phase, _seconds: None)
            plan = Blueprint(name="work", image=IMAGE, limits=Limits(), tmpfs_mb=16)
            async with made_host(site, plan, await engine.image(IMAGE), {}, workspace_bytes=0) as host:
                await started(site, host)
                yield host


async def nothing():
    return


async def exec_in(host):
    return await run_exec(host, ORDER, nothing)


async def opened_in(host):
    process = Process(host, ORDER, nothing)
    async with anyio.create_task_group() as group:
        group.start_soon(process.run)
        return await process.wait(5)


async def dies_soon(host):
    await anyio.sleep(0.05)
    await dies_inside(host.engine, host.container)


@pytest.mark.parametrize("run", [exec_in, opened_in])
async def test_a_process_that_could_not_start_since_its_host_ended_is_told_as_lost(run):
    async with running(not_started) as host, anyio.create_task_group() as group:
        group.start_soon(dies_soon, host)
        outcome = await run(host)
        assert (outcome.exit_code, outcome.host_lost) == (126, True)


@pytest.mark.parametrize("run", [exec_in, opened_in])
async def test_a_program_that_is_not_there_is_no_lost_host(run):
    async with running(not_started) as host:
        outcome = await run(host)
        assert (outcome.exit_code, outcome.host_lost, host.ended) == (126, False, "")


@pytest.mark.parametrize("run", [exec_in, opened_in])
@pytest.mark.parametrize(("why", "oom"), [("oom", True), ("lost", False)])
async def test_a_host_that_ended_for_want_of_memory_says_so_to_what_it_does_not_take_any_more(run, why, oom):
    async with running() as host:
        await host.end(why)
        outcome = await run(host)
        assert (outcome.exit_code, outcome.host_lost, outcome.oom_killed) == (None, True, oom)
        assert outcome.reason == why
