"""A kill for memory is the host's own doing only where its own limit was near."""

from __future__ import annotations

import anyio
import pytest

from hosts.exec_places import named_host
from scorehost.errors import AttemptFailed
from scorehost.hosts import exec_ends, host, memory_watch
from scorehost.hosts.messages import Exec, Open, Wait
from scorehost.model.limits import Limits

pytestmark = pytest.mark.anyio
MIB = 1 << 20
LIMITS = Limits(memory_mb=64)


async def is_killed_for_memory(context):
    """A program that the kernel kills, which the engine's events tell."""
    context.run_out_of_memory()
    await context.sleep(0.05)
    return 137


async def is_killed_unseen(context):
    """The same where no event tells of it, as when the whole machine is short of memory (cgroup v1)."""
    await context.sleep(0.05)
    return 137


@pytest.fixture
def peak(monkeypatch):
    """Sets the peak that this machine's control groups show."""

    def shown(peak_bytes):
        for module in (memory_watch, host):
            monkeypatch.setattr(module, "local_peak", lambda _: peak_bytes)

    return shown


async def run_in(place, group):
    return await place.requests.answer(Exec(kind="exec", id=1, name="work", argv=("work",)), group)


async def opened_in(place, group):
    await place.requests.answer(Open(kind="open", id=1, name="work", argv=("work",)), group)
    return await place.requests.answer(Wait(kind="wait", id=2, process=1, timeout=5), group)


@pytest.mark.parametrize("use", [run_in, opened_in])
@pytest.mark.parametrize("shown", [None, 64 * MIB])
async def test_a_kill_at_the_limit_or_at_a_peak_that_nobody_saw_is_told_as_the_programs_own(use, shown, peak):
    peak(shown)
    async with named_host(is_killed_for_memory, limits=LIMITS) as place, anyio.create_task_group() as group:
        assert (await use(place, group))["oom_killed"]
        assert place.named.reports()[0].peak_memory_bytes == shown


@pytest.mark.parametrize("use", [run_in, opened_in])
async def test_a_kill_far_from_the_limit_is_the_machines_and_made_again(use, peak):
    peak(15 * MIB)
    with pytest.raises(BaseException) as raised:
        async with (
            named_host(is_killed_for_memory, limits=LIMITS) as place,
            anyio.create_task_group() as group,
        ):
            await use(place, group)
    why = raised.value
    while isinstance(why, BaseExceptionGroup):
        (why,) = why.exceptions
    assert isinstance(why, AttemptFailed)
    assert (why.failure.kind, why.failure.blame, why.failure.retryable) == ("host_lost", "environment", True)
    assert "the limit is 64 MiB, peak 15 MiB" in why.failure.message


async def test_a_kill_that_only_the_kernel_counted_is_no_exit_of_the_programs_own(peak, monkeypatch):
    peak(15 * MIB)
    counted = iter([0, 1, 1])
    monkeypatch.setattr(exec_ends, "killed_for_memory", lambda _: next(counted, 1))
    async with named_host(is_killed_unseen, limits=LIMITS) as place, anyio.create_task_group() as group:
        place.named._images.proven.add(((await place.engine.image("scorehost/python:3")).id, "/"))
        with pytest.raises(AttemptFailed) as failed:
            await run_in(place, group)
    assert failed.value.failure.kind == "host_lost"


GREEDY = """
import time
def evaluate(inputs):
    a = []
    take = "import time; time.sleep(2); a = []\\nwhile True: a.append(bytearray(1 << 20))"
    USE
"""
BESIDE = 'return passed(r=told(inputs["scoring"].exec("work", ["python3", "-S", "-c", take])))'
ITSELF = "time.sleep(2)\n    while True: a.append(bytearray(1 << 20))"


@pytest.mark.docker
@pytest.mark.parametrize(("name", "use"), [("work", BESIDE), ("evaluator", ITSELF)])
async def test_a_limit_that_is_not_the_hosts_own_makes_no_fault_of_who_ran_there(scoring, work, name, use):
    # The machine grants it half of what it may have: what is killed then had not reached its limit.
    half = ("update", "--memory", "128m", "--memory-swap", "128m")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: scoring.order(name, *half))
        with anyio.fail_after(60):
            evaluator = GREEDY.replace("USE", use)
            error = (await scoring(evaluator, **work({"memory_mb": 256}))).result.error
    assert (error.kind, error.blame.value, error.retryable) == ("host_lost", "environment", True)
    assert "the limit is 256 MiB, peak 12" in error.message  # 128, or a page less
