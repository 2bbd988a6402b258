"""A host that somebody else pauses, or stops and starts: nobody who is scored answers for what that costs."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from hosts.exec_places import named_host, one_host, sleeps
from scorehost.errors import AttemptFailed, EngineHangs
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.memory_watch import MemoryWatch
from scorehost.hosts.messages import Exec, Open, ReadFile, Receive, Wait

pytestmark = pytest.mark.anyio
USES = {
    "an exec": Exec(kind="exec", id=2, name="work", argv=("work",)),
    "a file": ReadFile(kind="read_file", id=2, name="work", path="/tmp/kept", offset=0),
    "an open process": Open(kind="open", id=2, name="work", argv=("work",)),
}


async def works(_context):
    return 0


async def told_of(place, *actions):
    """What the engine tells of the host of `work` while somebody gives it orders."""
    host = place.named._slots["work"].host
    for action in actions:
        place.engine._emit(place.engine._find(host.container), action)
    with anyio.fail_after(5):
        while not (host.memory.restarted if "start" in actions else host.memory.struck)(host.container):
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("orders", [("stop", "die", "start"), ("die", "stop", "start", "restart")], ids=len)
@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
async def test_what_was_left_in_a_host_that_was_started_again_is_not_looked_for(orders, use):
    async with named_host(works) as place, anyio.create_task_group() as group:
        await place.requests.answer(Exec(kind="exec", id=1, name="work", argv=("work",)), group)
        await told_of(place, *orders)
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(use, group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("host_lost", "environment", True)


@pytest.mark.parametrize(
    "asked",
    [
        Receive(kind="receive", id=2, process=1, timeout=0.05),
        Wait(kind="wait", id=2, process=1, timeout=0.05),
    ],
    ids=lambda asked: asked.kind,
)
async def test_a_process_in_a_paused_host_is_not_told_as_late(asked):
    async with named_host(sleeps) as place, anyio.create_task_group() as group:
        await place.requests.answer(Open(kind="open", id=1, name="work", argv=("work",)), group)
        early = await place.requests.answer(asked.model_copy(update={"id": 3}), group)
        await told_of(place, "pause")
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(asked, group)
        group.cancel_scope.cancel()
    assert early is None or not early["ended"]
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("host_lost", "environment", True)


def test_the_second_start_of_a_container_is_somebody_elses_unless_it_was_to_begin_anew():
    watch = MemoryWatch()
    watch._begin("c")
    assert not watch.struck("c")
    watch.begin_anew("c")
    watch._begin("c")
    assert not watch.restarted("c")
    watch._begin("c")
    assert watch.restarted("c")
    assert watch.struck("c")
    watch.forget("c")
    assert not watch.restarted("c")


def hangs_at(engine, times):
    """An engine that stands still `times` times while it is asked to kill."""
    plain, left = engine.kill, [None] * times

    async def kill(container):
        if left:
            left.pop()
            raise EngineHangs("hangs")
        await plain(container)

    engine.kill = kill


async def run_into_its_limit(host):
    async def end():
        await host.end("timed_out")

    return await run_exec(host, ExecOrder(("work",), seconds=0.1, keep=10), end)


async def test_a_kill_that_a_moments_standstill_swallowed_is_sent_again():
    async with one_host(sleeps) as host:
        hangs_at(host.engine, 1)
        done = await run_into_its_limit(host)
        assert (done.timed_out, host.stuck) == (True, False)
        assert not (await host.engine.inspect(host.container)).running


async def test_an_engine_that_hangs_is_never_the_doing_of_what_ran():
    async with one_host(sleeps) as host:
        hangs_at(host.engine, 2)
        with pytest.raises(AttemptFailed) as failed:
            await run_into_its_limit(host)
    assert (failed.value.failure.kind, failed.value.failure.retryable) == ("engine_lost", True)
    assert not host.stuck
