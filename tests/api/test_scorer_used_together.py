"""A scorer in many hands at once: nobody's trouble is anybody else's, and nothing stays on the engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

import anyio
import anyio.from_thread
import pytest

from scorehost.api import open_scorer
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.hosts import labels
from trial import write_task

pytestmark = pytest.mark.docker

EVALUATOR = """
import time
def evaluate(inputs):
    path = inputs["artifacts"].get("answer")
    text = "" if path is None else open(path).read()
    if text == "slow":
        time.sleep(60)
    return {"status": "PASS" if text == "42" else "FAIL"}
"""
PROGRAM = """
import asyncio, signal, sys
from scorehost.api import open_scorer

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it

async def main():
    async with open_scorer(sys.argv[1]) as scorer:
        print((await scorer.score("t", {"answer": "42"})).result.job_id, flush=True)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(scorer.score("t", {"answer": "slow"}))

asyncio.run(main())
"""


@pytest.fixture
def dataset(tmp_path):
    return write_task(tmp_path / "d", EVALUATOR, limits={"memory_mb": 128})


async def of_job(job):
    """What carries the job's label on the engine now."""
    async with open_engine() as engine:
        label = {labels.JOB: job}
        return [*await engine.list_containers(label), *await engine.list_volumes(label)]


async def until_a_host_runs(job):
    """Waits until a host of the job runs."""
    with anyio.fail_after(60):
        while True:
            if any(row.kind == "container" and row.running for row in await of_job(job)):
                return
            await anyio.sleep(0.05)


@pytest.mark.anyio
async def test_twenty_at_once_each_get_their_own_verdict(dataset):
    texts = [str(number) for number in range(30, 50)]
    async with open_scorer(dataset) as scorer:
        found = await asyncio.gather(*(scorer.score("t", {"answer": text}) for text in texts))
    assert [one.status for one in found] == ["PASS" if text == "42" else "FAIL" for text in texts]
    assert len({one.result.sample for one in found}) == 20


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["anyio", "asyncio"])
async def test_one_that_is_cancelled_harms_no_other(dataset, how):
    async with open_scorer(dataset, at_a_time=3) as scorer:
        others = [asyncio.create_task(scorer.score("t", {"answer": text})) for text in ("42", "41")]
        if how == "anyio":
            with anyio.move_on_after(3) as scope:
                await scorer.score("t", {"answer": "slow"}, name="slow")
            assert scope.cancelled_caught
        else:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(scorer.score("t", {"answer": "slow"}, name="slow"), 3)
        left = [row.labels[labels.SLOT] for row in await of_job(scorer._folder.name)]
        assert not [slot for slot in left if slot.startswith("t/slow/")]
        assert [(await one).status for one in others] == ["PASS", "FAIL"]
        assert (await scorer.score("t", {"answer": "42"})).status == "PASS"


@pytest.mark.anyio
async def test_a_refused_one_among_many_is_refused_alone(dataset):
    async with open_scorer(dataset) as scorer:
        found = await asyncio.gather(
            scorer.score("t", {"answer": "42"}),
            scorer.score("t", {"wrong": "42"}),
            scorer.score("t", {"answer": "41"}),
            return_exceptions=True,
        )
    assert [found[0].status, type(found[1]), found[2].status] == ["PASS", UsageError, "FAIL"]


@pytest.mark.anyio
async def test_the_end_of_the_block_breaks_off_what_still_runs_and_says_so(dataset):
    async with open_scorer(dataset, at_a_time=1) as scorer:
        running = asyncio.create_task(scorer.score("t", {"answer": "slow"}))
        waiting = asyncio.create_task(scorer.score("t", {"answer": "42"}))
        await until_a_host_runs(scorer._folder.name)
    for task in (running, waiting):
        with pytest.raises(UsageError, match="closed while this was scored"):
            await task
    assert await of_job(scorer._folder.name) == []


@pytest.mark.anyio
async def test_an_exception_in_the_block_removes_the_hosts_of_what_still_runs(dataset):
    with pytest.raises(ZeroDivisionError):
        async with open_scorer(dataset) as scorer:
            running = asyncio.create_task(scorer.score("t", {"answer": "slow"}))
            await until_a_host_runs(scorer._folder.name)
            raise ZeroDivisionError
    assert await of_job(scorer._folder.name) == []
    with pytest.raises(UsageError, match="closed while this was scored"):
        await running


def test_a_program_without_async_scores_through_a_portal(dataset):
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_scorer(dataset)) as scorer,
    ):
        assert portal.call(scorer.score, "t", {"answer": "42"}).status == "PASS"


def test_a_child_that_was_forked_is_told_at_once_that_the_scorer_is_not_its_own(dataset):
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_scorer(dataset)) as scorer,
    ):
        child = os.fork()
        if not child:
            try:
                portal.call(scorer.score, "t", {"answer": "42"})
            except UsageError as error:
                os._exit(17 if "forked" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


def test_ctrl_c_ends_the_program_by_keyboard_interrupt_and_leaves_nothing(dataset):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, dataset], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    job = process.stdout.readline().strip()
    anyio.run(until_a_host_runs, job)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert complaint.rstrip().endswith("KeyboardInterrupt")
    assert anyio.run(of_job, job) == []
