"""Checks that an evaluator told before its end are kept, however it ended; and only the evaluator's."""

from __future__ import annotations

import anyio
import pytest

from reports.memory_runner import PASS, memory_engine, scored_on
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.hosts.frames import Budget, ChannelViolation, Check
from trial import write_submission, write_task

pytestmark = pytest.mark.anyio

FIRST = {"id": "first", "status": "PASS"}
SECOND = {"id": "second", "status": "FAIL", "message": "why", "visibility": "public"}


async def made(tmp_path, job_id, then, rows=(FIRST, SECOND)):
    """One attempt by a runner that tells `rows` and goes on as `then` says."""

    async def program(context):
        runner = await MemoryRunner.greeted(context)
        for number, row in enumerate(rows, start=1):
            await runner._frame({"kind": "check", "id": number, "row": row})
        return await then(runner, context)

    root = write_task(tmp_path / "d", "", limits={"evaluate_seconds": 1})
    async with memory_engine(program) as engine:
        with anyio.fail_after(30):
            return await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)


async def raises(runner, _context):
    error = {"kind": "evaluator_exception", "type": "KeyError", "place": "", "message": "it raised"}
    await runner.say({"kind": "failed", "error": error})


async def hangs(runner, context):
    await context.sleep(1.5)
    await runner.vouch(status=137, stopped=True)


async def is_killed(_runner, _context):
    return 137


async def dies_of_memory(runner, _context):
    await runner.vouch(status=137, oom_kills=1)


async def returns_nonsense(runner, _context):
    await runner.say({"kind": "result", "value": {"status": "maybe"}})


async def breaks_the_channel(_runner, context):
    await context.write(b"\0\0\0\x64" + b"x" * 100)
    await context.sleep(60)


ENDS = {
    raises: "evaluator_exception",
    hangs: "evaluator_timeout",
    is_killed: "evaluator_exit",
    dies_of_memory: "evaluator_oom",
    returns_nonsense: "invalid_result",
    breaks_the_channel: "channel_violation",
}


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
async def test_checks_told_before_the_end_are_kept_whatever_the_end_is(tmp_path, job_id, end):
    done = await made(tmp_path, job_id, end)
    assert (done.result.status, done.kind) == ("ERROR", ENDS[end])
    assert [(row["id"], row["status"]) for row in done.checks] == [("first", "PASS"), ("second", "FAIL")]
    assert done.checks[1]["message"] == "why"


async def test_checks_of_the_result_are_merged_by_id(tmp_path, job_id):
    async def returns(runner, _context):
        rows = [{"id": "second", "status": "SKIP"}, {"id": "third", "status": "PASS"}]
        await runner.say({"kind": "result", "value": {**PASS, "checks": rows}})

    done = await made(tmp_path, job_id, returns)
    assert done.result.status == "PASS"
    statuses = [(row["id"], row["status"]) for row in done.checks]
    assert statuses == [("first", "PASS"), ("second", "SKIP"), ("third", "PASS")]
    assert done.result.warnings == ()


async def test_a_row_that_is_not_in_order_is_left_out_with_a_warning_also_without_a_verdict(tmp_path, job_id):
    done = await made(tmp_path, job_id, raises, rows=(FIRST, {"id": "odd"}, FIRST))
    assert [row["id"] for row in done.checks] == ["first"]
    assert list(done.result.warnings) == [
        "checks: row 2 of those that check() told was left out: status: Field required",
        'checks: row 3 of those that check() told was left out: the id "first" stands before',
    ]


async def test_an_evaluation_that_tells_no_checks_has_an_empty_list(tmp_path, job_id):
    async def returns(runner, _context):
        await runner.say({"kind": "result", "value": {"status": "PASS"}})

    assert (await made(tmp_path, job_id, returns, rows=())).checks == []


async def test_more_rows_than_the_sdk_lets_out_are_a_violation():
    budget = Budget()
    for number in range(1, 10_002):
        budget.spend(Check(kind="check", id=number, row=FIRST))
    with pytest.raises(ChannelViolation, match="10001 rows"):
        budget.spend(Check(kind="check", id=10_002, row=FIRST))
    large = Budget()
    with pytest.raises(ChannelViolation, match="16777216 bytes"):
        for number in range(1, 4):
            large.spend(Check(kind="check", id=number, row={"id": "x", "message": "m" * (7 << 20)}))
