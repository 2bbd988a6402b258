"""What a keeper says of the end decides, however late it comes; without its word no result counts."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest

from reports.memory_runner import PASS, memory_engine, scored_on
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.hosts import evaluator, talk
from trial import write_submission, write_task

pytestmark = pytest.mark.anyio

RESULT = {"kind": "result", "value": PASS}
ENDED = {
    "kind": "ended",
    "status": 0,
    "stopped": False,
    "broken": False,
    "oom_kills": 0,
    "usage": {"peak_memory_bytes": 2048 << 20, "cpu_seconds": 0.5},
}
FAR = {"peak_memory_bytes": 150 << 20, "cpu_seconds": 0.5}  # from the limit, which is 2048 MiB
UNSEEN = {"peak_memory_bytes": None, "cpu_seconds": None}


async def made(tmp_path, job_id, program, wrap=None, **limits):
    root = write_task(tmp_path / "d", "", limits={"evaluate_seconds": 1, **limits})
    async with memory_engine(program) as engine:
        if wrap is not None:
            engine.attach = wrap(engine.attach)
        with anyio.fail_after(30):
            return await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)


class Late:
    """A stream that hands its second piece, and all behind it, on too late."""

    def __init__(self, stream, seconds):
        self._stream, self._seconds, self._pieces = stream, seconds, 0

    def __getattr__(self, name):
        return getattr(self._stream, name)

    async def receive(self):
        piece = await self._stream.receive()
        self._pieces += 1
        if self._pieces == 2:
            await anyio.sleep(self._seconds)
        return piece


def late(seconds):
    def wrap(attach):
        @asynccontextmanager
        async def attached(container):
            async with attach(container) as stream:
                yield Late(stream, seconds)

        return attached

    return wrap


@pytest.mark.parametrize("lingers", [0.0, 60.0], ids=["ended", "its host runs on"])
async def test_a_result_that_was_there_in_time_counts_though_the_engine_hands_it_on_after_the_deadline(
    tmp_path, job_id, lingers
):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await context.sleep(0.1)
        await runner.say(RESULT)
        await context.sleep(lingers)

    done = await made(tmp_path, job_id, program, late(2.5))
    assert (done.result.status, done.result.error) == ("PASS", None)


async def test_an_evaluator_that_takes_long_to_be_gone_keeps_its_result(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner._frame(RESULT)
        await context.sleep(3)  # 6 GB are freed, on a busy machine
        await runner.vouch()

    done = await made(tmp_path, job_id, program)
    assert (done.result.status, done.result.score) == ("PASS", 1.0)


async def test_a_verdict_does_not_wait_for_the_engine_to_see_the_exit(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner.say(RESULT)
        await context.sleep(60)

    with anyio.fail_after(10):
        done = await made(tmp_path, job_id, program)
    assert done.result.status == "PASS"
    assert done.result.hosts[0].ended == "removed"


async def test_a_result_without_the_keepers_word_makes_no_verdict(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner._frame(RESULT)
        return 137

    done = await made(tmp_path, job_id, program)
    assert done.kind == "evaluator_exit"


async def test_a_keeper_that_never_says_how_it_ended_makes_no_verdict(tmp_path, job_id, monkeypatch):
    monkeypatch.setattr(evaluator, "VOUCH_SECONDS", 0.2)

    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner._frame(RESULT)
        await context.sleep(60)

    done = await made(tmp_path, job_id, program)
    assert (done.kind, "did not end within 0.2 s" in done.result.error.message) == ("channel_violation", True)


async def test_a_keeper_that_does_not_answer_at_the_deadline_is_ended_with_its_host(
    tmp_path, job_id, monkeypatch
):
    monkeypatch.setattr(talk, "ANSWER_SECONDS", 0.2)

    async def program(context):
        await MemoryRunner.greeted(context)
        await context.sleep(60)

    done = await made(tmp_path, job_id, program)
    assert (done.kind, done.result.hosts[0].ended) == ("evaluator_timeout", "timed_out")


@pytest.mark.parametrize(
    ("said", "ended", "kind", "words"),
    [
        (None, {"status": 0}, "evaluator_exit", "exit status 0"),
        (None, {"status": 139}, "evaluator_exit", "signal 11"),
        (None, {"status": 137}, "evaluator_exit", "signal 9"),
        (None, {"status": 137, "oom_kills": 1}, "evaluator_oom", "peak 2048 MiB"),
        (None, {"status": 137, "oom_kills": 1, "usage": UNSEEN}, "evaluator_oom", "limit is 2048 MiB"),
        (None, {"status": 1, "oom_kills": 1}, "evaluator_exit", "exit status 1"),
        (None, {"status": 137, "stopped": True}, "evaluator_timeout", "within 1 s"),
        (None, {"status": 137, "broken": True}, "channel_violation", "what the SDK does not say"),
        (RESULT, {"status": 137, "broken": True}, "channel_violation", "what the SDK does not say"),
        (RESULT, {"status": 137}, "channel_violation", "did not exit after its result"),
        (RESULT, {"status": 137, "oom_kills": 1}, "evaluator_oom", "limit"),
        (RESULT, {"status": 137, "stopped": True}, None, ""),  # it came in the moment of the deadline
        (RESULT, {"trees": {}}, "changed_input", "changed"),  # what is not named is not vouched for
    ],
)
async def test_the_end_is_judged_by_what_the_keeper_saw(tmp_path, job_id, said, ended, kind, words):  # noqa: PLR0917
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        if said is not None:
            await runner._frame(said)
        await runner.vouch(**{"usage": ENDED["usage"], **ended})

    done = await made(tmp_path, job_id, program)
    assert done.kind == kind, done.result.error
    if kind is not None:
        assert words in done.result.error.message
        assert (done.result.error.blame.value, done.result.error.retryable) == ("dataset", False)


async def test_a_kill_for_memory_far_from_the_hosts_own_limit_is_the_machines_doing(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner.vouch(status=137, oom_kills=1, usage=FAR)

    error = (await made(tmp_path, job_id, program)).result.error
    assert (error.kind, error.blame.value, error.retryable) == ("host_lost", "environment", True)
    assert "the limit is 2048 MiB, peak 150 MiB" in error.message


async def test_no_peak_is_told_that_nobody_saw(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner.vouch(status=137, oom_kills=1, usage=UNSEEN)

    result = (await made(tmp_path, job_id, program)).result
    assert "peak" not in result.error.message
    assert result.hosts[0].peak_memory_bytes is None


@pytest.mark.parametrize("kind", ["image_unusable", "adapter_timeout", "budget_spent"])
async def test_in_a_changed_host_the_evaluator_can_put_the_blame_on_nobody_else(tmp_path, job_id, kind):
    error = {"kind": kind, "type": "", "place": "", "message": "not my fault"}

    async def program(context):
        runner = await MemoryRunner.greeted(context)
        trees = {**runner.trees, "/attempt/evaluation": "changed"}
        await runner.say({"kind": "failed", "error": error, "trees": trees})

    done = await made(tmp_path, job_id, program)
    assert done.result.error.blame.value == "dataset"
    assert "/attempt/evaluation" in done.result.error.message


async def test_the_log_is_whole_when_the_verdict_counts(tmp_path, job_id):
    async def program(context):
        runner = await MemoryRunner.greeted(context)
        await runner._frame(RESULT)
        usage, trees = ENDED["usage"], runner.trees
        await runner._frame({**ENDED, "usage": usage, "trees": trees})
        await context.sleep(0.3)  # stderr is a way of its own, and slower
        for piece in (b"the last ", b"words\n", b"\0scorehost " + runner._mac(b"log", 0, b"") + b"\n"):
            await context.write_error(piece)
        await context.sleep(60)

    done = await made(tmp_path, job_id, program)
    assert (done.result.status, done.log) == ("PASS", b"the last words\n")
