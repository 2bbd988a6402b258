"""Sessions with agents, as the controller serves them: scripted agents, no engine."""

from __future__ import annotations

import anyio
import pytest

from scorehost.errors import AttemptFailed, BudgetSpent, CallFailed
from scorehost.hosts.agents import UnknownRole
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.messages import CloseSession, Invoke, Judge, Session
from scorehost.hosts.named import UnknownEnvironment
from scorehost.hosts.sessions import MAX_SESSIONS, Refused, Sessions
from scorehost.model.call import Fault
from scorehost.model.failure import Phase, failure

pytestmark = pytest.mark.anyio


class Script:
    """Agents that know the role `judge`; `answer(prompt)` is awaited for each call."""

    def __init__(self, answer=None):
        self._answer = answer
        self.asked = []
        self.running = self.most = 0

    def session(self, role, _environment, place):
        if role != "judge":
            raise UnknownRole("no such role")
        return _Session(self, place)


class _Session:
    def __init__(self, script, place):
        self._script, self.place = script, place

    async def invoke(self, prompt):
        script = self._script
        script.asked.append(prompt)
        script.running += 1
        script.most = max(script.most, script.running)
        try:
            output = await script._answer(prompt) if script._answer else prompt
        finally:
            script.running -= 1
        return {"output": output, "request_id": "r", "input_tokens": 1, "output_tokens": None}

    async def judge(self, **asked):
        if "description" not in asked["assertion"]:
            raise ValueError("an assertion has a description")
        return {"status": "passed", "reason": asked["case_id"]}


class Place:
    """One host, `box`, that is lent to one session at a time."""

    def __init__(self, fault=None):
        self.lent, self.back, self._fault = [], [], fault

    async def lend(self, name):
        if name != "box":
            raise UnknownEnvironment("no such host")
        if self._fault:
            raise self._fault
        self.lent.append(name)
        return anyio.sleep

    def take_back(self, name):
        self.back.append(name)


def begin(number=1, role="judge", environment=None):
    return Session(kind="session", id=number, role=role, environment=environment)


def invoke(number, session=1, prompt="p"):
    return Invoke(kind="invoke", id=number, session=session, prompt=prompt)


def close(number, session=1):
    return CloseSession(kind="close_session", id=number, session=session)


async def test_a_session_answers_until_it_is_closed():
    sessions = Sessions(Script())
    assert await sessions.answer(begin()) == {"session": 1}
    assert (await sessions.answer(invoke(2)))["output"] == "p"
    assert await sessions.answer(close(3)) is None
    assert await sessions.answer(close(4)) is None  # once more is nothing
    with pytest.raises(Refused, match="closed before"):
        await sessions.answer(invoke(5))


async def test_without_roles_nothing_can_be_opened():
    with pytest.raises(UnknownRole, match="lists no roles"):
        await Sessions(None).answer(begin())


async def test_an_unknown_role_lends_no_host():
    place = Place()
    with pytest.raises(UnknownRole):
        await Sessions(Script(), premises=place).answer(begin(role="other", environment="box"))
    assert place.lent == []


async def test_a_host_is_lent_once_and_given_back_once():
    place = Place()
    sessions = Sessions(Script(), premises=place)
    await sessions.answer(begin(environment="box"))
    await sessions.answer(close(2))
    await sessions.answer(close(3))
    assert (place.lent, place.back) == (["box"], ["box"])


@pytest.mark.parametrize(
    ("environment", "fault", "error"),
    [
        ("nosuch", None, UnknownEnvironment),
        ("box", Refused("HostLost", "it ended"), Refused),
        ("box", AttemptFailed(failure(Phase.START, "start_failed", "no")), AttemptFailed),
    ],
)
async def test_a_host_that_cannot_be_had_makes_no_session(environment, fault, error):
    sessions = Sessions(Script(), premises=Place(fault))
    with pytest.raises(error):
        await sessions.answer(begin(environment=environment))
    with pytest.raises(Refused, match="no such session"):
        await sessions.answer(invoke(2))


async def test_in_a_run_phase_no_session_is_tied():
    with pytest.raises(Refused, match="tied to no host"):
        await Sessions(Script()).answer(begin(environment="box"))


async def test_calls_of_one_session_queue_and_those_of_two_do_not():
    async def slow(prompt):
        await anyio.sleep(0.02)
        return prompt

    script = Script(slow)
    sessions = Sessions(script)
    await sessions.answer(begin(1))
    async with anyio.create_task_group() as group:
        for number in range(2, 5):
            group.start_soon(sessions.answer, invoke(number, 1, str(number)))
    assert (script.most, script.asked) == (1, ["2", "3", "4"])
    await sessions.answer(begin(5))
    async with anyio.create_task_group() as group:
        group.start_soon(sessions.answer, invoke(6, 1))
        group.start_soon(sessions.answer, invoke(7, 5))
    assert script.most == 2


async def test_closing_ends_the_call_that_runs_and_those_that_wait():
    began = anyio.Event()

    async def never(_prompt):
        began.set()
        await anyio.sleep_forever()

    script, refused = Script(never), []
    sessions = Sessions(script, premises=Place())
    await sessions.answer(begin(environment="box"))

    async def ask(number):
        try:
            await sessions.answer(invoke(number))
        except Refused as error:
            refused.append(error.message)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, 2)
            group.start_soon(ask, 3)
            await began.wait()
            await sessions.answer(close(4))
    assert refused == ["the session was closed while it was asked"] * 2
    assert (script.running, len(script.asked)) == (0, 1)


async def test_the_clock_stands_while_an_agent_is_asked_and_only_then():
    async def slow(prompt):
        await anyio.sleep(0.3)
        return prompt

    clock = StandingClock(0.1)
    sessions = Sessions(Script(slow), clock=clock)
    await sessions.answer(begin())
    clock.start()
    with anyio.move_on_after(0.05) as early:
        async with anyio.create_task_group() as group:
            group.start_soon(clock.expired)
            await sessions.answer(invoke(2))
    assert early.cancelled_caught  # neither the answer nor the end of the time had come
    with anyio.fail_after(5):
        await sessions.answer(invoke(3))
        with anyio.move_on_after(0.02) as still:
            await clock.expired()
        assert still.cancelled_caught  # 0.3 s of asking were not counted
        await clock.expired()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CallFailed(Fault.of("adapter_exit", "it ended")), {"adapter_exit": "it ended"}),
        (BudgetSpent("no calls left", kind="budget_spent"), {"budget_spent": "no calls left"}),
    ],
)
async def test_what_a_runner_was_told_is_remembered_by_kind(error, told):
    async def fails(_prompt):
        raise error

    sessions = Sessions(Script(fails))
    await sessions.answer(begin())
    with pytest.raises(type(error)):
        await sessions.answer(invoke(2))
    assert sessions.told == {kind: (message, "judge") for kind, message in told.items()}


@pytest.mark.parametrize("garbage", ["[ERROR] 503", '{"ok": true, "ok": false}', "[]", "", '{"score": NaN}'])
async def test_a_reply_that_is_not_one_object_may_end_the_evaluation_as_the_adapters_fault(garbage):
    async def answers(_prompt):
        return garbage

    sessions = Sessions(Script(answers))
    await sessions.answer(begin())
    await sessions.answer(invoke(2))
    assert sessions.told == {
        "adapter_malformed": ("a reply of the role judge is not one JSON object", "judge")
    }


@pytest.mark.parametrize("sound", ['{"ok": true}', {"ok": True}])
async def test_an_evaluator_cannot_blame_an_adapter_whose_reply_was_sound(sound):
    async def answers(_prompt):
        return sound

    sessions = Sessions(Script(answers))
    await sessions.answer(begin())
    await sessions.answer(invoke(2))
    assert sessions.told == {}


async def test_an_assertion_that_says_nothing_is_refused():
    sessions = Sessions(Script())
    await sessions.answer(begin())

    def judge(number, **assertion):
        return Judge(
            kind="judge", id=number, session=1, case_id="c", prompt="", output="", assertion=assertion
        )

    assert (await sessions.answer(judge(2, description="d")))["reason"] == "c"
    with pytest.raises(Refused, match="has a description"):
        await sessions.answer(judge(3, id="a"))


async def test_open_sessions_have_an_end():
    sessions = Sessions(Script())
    for number in range(1, MAX_SESSIONS + 1):
        await sessions.answer(begin(number))
    with pytest.raises(BudgetSpent, match="Close one first"):
        await sessions.answer(begin(100))
    await sessions.answer(close(101))
    assert await sessions.answer(begin(102)) == {"session": 102}
