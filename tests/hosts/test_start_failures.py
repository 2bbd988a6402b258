"""Hosts that do not come up: what is said, and whether the attempt is made again by itself."""

from __future__ import annotations

import anyio
import pytest

from reports.memory_runner import memory_engine, scored_on
from scorehost.errors import Conflict, EngineRefused, NotFound
from trial import write_submission, write_task

pytestmark = pytest.mark.anyio


async def attempt(engine, tmp_path, job_id, **limits):
    root = write_task(tmp_path / "d", "", limits=limits)
    with anyio.fail_after(30):
        done = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    return done.result.error


@pytest.mark.parametrize(
    ("refusal", "again"),
    [
        (EngineRefused("Range of CPUs is from 0.01 to 2.00", status=400), False),
        (EngineRefused("no such runtime", status=400), False),
        (EngineRefused("a bad moment", status=500), True),
        (EngineRefused("no free memory", status=503), True),
        (NotFound("No such image", status=404), True),  # it is made or pulled again
        (Conflict("marked for removal", status=409), True),
    ],
    ids=lambda value: getattr(value, "message", None),
)
@pytest.mark.parametrize("call", ["create", "start"])
async def test_what_an_engine_refuses_for_good_is_not_asked_again(tmp_path, job_id, call, refusal, again):
    async with memory_engine() as engine:

        async def refuses(*_, **__):
            raise refusal

        setattr(engine, call, refuses)
        error = await attempt(engine, tmp_path, job_id)
    assert (error.kind, error.blame.value, error.retryable) == ("start_failed", "environment", again)
    assert refusal.message in error.message


async def test_a_host_that_prints_and_does_not_come_up_in_time_shows_what_it_printed(tmp_path, job_id):
    async def program(context):
        for _ in range(100):
            await context.write_error(b"loading the model\n")
        await context.sleep(60)

    async with memory_engine(program) as engine:
        error = await attempt(engine, tmp_path, job_id, start_seconds=1)
    assert (error.kind, error.retryable) == ("start_timeout", True)
    assert "it printed 1800 bytes" in error.message
    assert error.message.endswith("loading the model")


async def test_a_host_that_floods_before_its_runner_speaks_is_an_image_that_cannot_be_used(tmp_path, job_id):
    async def program(context):
        while True:
            await context.write_error(b"noise " * 10_000)
            await context.sleep(0)

    async with memory_engine(program) as engine:
        error = await attempt(engine, tmp_path, job_id, output_total_bytes=1_000_000)
    assert (error.kind, error.phase.value, error.blame.value) == ("image_unusable", "start", "environment")
    assert "printed more than 1000000 bytes before its runner spoke" in error.message
    assert "noise" in error.message
