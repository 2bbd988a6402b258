"""One budget of bytes over all that an evaluator's outstanding requests hold in the controller."""

from __future__ import annotations

import base64

import anyio
import pytest

from reports.memory_runner import USAGE, scored_on
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.errors import BudgetSpent
from scorehost.hosts.held import HELD_BYTES, SENT_BYTES, Held
from scorehost.hosts.messages import MAX_PART, MAX_STDIN, Exec, Invoke, Judge, Receive, Send, WriteFile
from trial import IMAGE, write_submission, write_task

pytestmark = pytest.mark.anyio


def write(number, size=MAX_PART):
    return WriteFile(kind="write_file", id=number, name="w", path="/f", data=bytes(size), more=False)


def send(number, size=MAX_PART):
    return Send(kind="send", id=number, process=1, data=bytes(size))


async def waits(call):
    """Whether a call is not done at once."""
    with anyio.move_on_after(0.05) as scope:
        await call
    return scope.cancelled_caught


@pytest.mark.parametrize(
    "request_",
    [
        Exec(kind="exec", id=1, name=None, argv=("x",), stdin=bytes(1000)),
        send(1, 1000),
        write(1, 1000),
        Invoke(kind="invoke", id=1, session=1, prompt="x" * 1000),
        Judge(kind="judge", id=1, session=1, case_id="c", prompt="x" * 500, output="x" * 500, assertion={}),
    ],
)
async def test_the_payload_of_every_kind_of_request_is_counted_until_it_was_answered(request_):
    held = Held()
    await held.admit(request_)
    assert 1000 <= held.bytes < 1200  # text has a header of its own in memory
    held.done(1)
    assert held.bytes == 0


async def test_who_finds_no_room_waits_until_something_was_answered():
    held = Held(10)
    await held.admit(write(1, 8))
    assert await waits(held.admit(write(2, 8)))
    async with anyio.create_task_group() as group:
        group.start_soon(held.admit, write(3, 8))
        await anyio.sleep(0.01)
        held.done(1)
    assert held.bytes == 8


async def test_requests_without_a_payload_pass_when_the_budget_is_used_up():
    held = Held(10)
    await held.admit(write(1, 10))
    assert not await waits(held.admit(Receive(kind="receive", id=2, process=1)))


def test_a_single_request_within_limits_always_fits_beside_input_that_nobody_reads():
    assert SENT_BYTES + MAX_STDIN < HELD_BYTES


async def test_replies_that_are_made_count_and_one_is_always_being_made():
    held = Held(10)
    await held.admit(write(1, 10))
    assert not await waits(held.replying(1, 8)), "the first: else nothing would ever be given back"
    assert await waits(held.replying(2, 8))
    held.made(1, 7)
    assert held.bytes == 11
    held.done(1)
    assert not await waits(held.replying(2, 8))


async def test_input_for_processes_that_do_not_read_it_is_refused_and_blocks_nothing_for_ever(monkeypatch):
    monkeypatch.setattr("scorehost.hosts.held.PATIENCE_SECONDS", 0.02)
    held = Held()
    for number in range(1, SENT_BYTES // MAX_PART + 1):
        await held.admit(send(number))
    late = send(1000)
    await held.admit(late)
    with pytest.raises(BudgetSpent, match="receive what they print, or close them"):
        held.check(late)
    held.done(1)
    await held.admit(late)
    held.check(late)


class Gathers:
    """A runner whose evaluator writes very many files at once and waits for none of them."""

    def __init__(self, files):
        self.files, self.said = files, 0

    async def __call__(self, context):
        runner = await MemoryRunner.greeted(context)
        data = base64.b64encode(bytes(MAX_PART)).decode()
        for number in range(1, self.files + 1):
            frame = {"kind": "write_file", "id": number, "name": "work", "path": f"/tmp/{number}"}
            await runner.say({**frame, "data": data, "more": False})
            self.said = number
        value = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
        await runner.say({"kind": "result", "value": value, "usage": USAGE, "trees": runner.trees})
        return 0


async def test_the_channel_is_read_no_further_while_the_budget_is_used_up(tmp_path, job_id, monkeypatch):
    monkeypatch.setattr("scorehost.hosts.requests.Held", lambda: Held(6 * MAX_PART))
    gathers = Gathers(20)
    before = []

    async def slow_dd(context):
        while await context.read():
            pass
        if not before:
            said = -1
            while said != gathers.said:
                said = gathers.said
                await context.sleep(0.5)
            before.append(said)
        return 0

    async def hosts_sleep(context):
        await context.sleep(600)

    environments = {"work": {"docker_image": IMAGE}}
    root = write_task(tmp_path / "d", "", evaluation={"environments": environments})
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main and launch.argv[0] == "sleep", hosts_sleep)
        engine.program(lambda launch: launch.main and launch.argv[0] != "sleep", gathers)
        engine.program(lambda launch: launch.argv[:1] == ("dd",), slow_dd)
        scored = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert scored.result.status == "PASS", scored.result.error
    # Six are held, one is read and waits, and the pipe holds up to one more.
    assert 6 <= before[0] <= 8
    assert gathers.said == 20
