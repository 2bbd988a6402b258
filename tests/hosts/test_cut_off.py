"""What nobody waits for any more does not run on: a cancel means kill."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest

from hosts.exec_places import named_host, one_host, sleeps
from scorehost.errors import CallFailed
from scorehost.hosts.agents import Work
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.messages import Cancel, CloseSession, Exec, Invoke, Open, Session, Wait
from scorehost.hosts.processes import Process
from scorehost.hosts.sessions import Refused
from scorehost.model.call import Fault

pytestmark = pytest.mark.anyio


class Running:
    """A program that runs until it is ended, and remembers that."""

    def __init__(self):
        self.began, self.ended = anyio.Event(), anyio.Event()

    async def __call__(self, context):
        self.began.set()
        try:
            await context.sleep(600)
        finally:
            self.ended.set()


def exec_(number, *argv):
    return Exec(kind="exec", id=number, name="work", argv=argv or ("work",))


class Agent:
    """A session whose calls run a program in its host; `seconds` is the adapter's own limit."""

    def __init__(self, seconds=None):
        self._seconds = seconds

    def session(self, _role, _environment, place):
        self.place = place
        return self

    async def invoke(self, _prompt):
        with anyio.move_on_after(self._seconds):
            await self.place(Work(("work",)))
        raise CallFailed(Fault.of("adapter_timeout", "late"))


@pytest.mark.parametrize("own", [True, False])
async def test_a_cancelled_exec_is_ended_before_the_cancel_goes_on(own):
    program, ended = Running(), []

    async def end_it():
        ended.append("asked")
        await host.end("cut_off")

    async def never():
        pytest.fail("its deadline has not come")

    async with one_host(program) as host:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def cancel():
                    await program.began.wait()
                    scope.cancel()

                group.start_soon(cancel)
                order = ExecOrder(("work",), seconds=60, keep=10)
                await (run_exec(host, order, never, end_it) if own else run_exec(host, order, end_it))
        assert scope.cancelled_caught
        assert ended == ["asked"]
        with anyio.fail_after(1):
            await program.ended.wait()


async def test_what_an_adapter_ran_when_its_time_was_over_is_ended_and_the_next_use_is_a_clean_host():
    program = Running()
    async with named_host(program, agents=Agent(0.1)) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(Session(kind="session", id=1, role="r", environment="work"), group)
        with pytest.raises(CallFailed):
            await answer(Invoke(kind="invoke", id=2, session=1, prompt="p"), group)
        with anyio.fail_after(1):
            await program.ended.wait()
        await answer(CloseSession(kind="close_session", id=3, session=1), group)
        assert (await answer(exec_(4, "true"), group))["exit_code"] == 0
        assert [host.ended for host in place.named.reports()] == ["cut_off", "removed"]


async def test_a_session_that_is_closed_ends_the_program_that_its_agent_runs():
    program = Running()
    async with named_host(program, agents=Agent()) as place, anyio.create_task_group() as group:
        answer, refused = place.requests.answer, []

        async def ask():
            try:
                await answer(Invoke(kind="invoke", id=2, session=1, prompt="p"), group)
            except Refused as error:
                refused.append(error.message)

        await answer(Session(kind="session", id=1, role="r", environment="work"), group)
        group.start_soon(ask)
        await program.began.wait()
        await answer(CloseSession(kind="close_session", id=3, session=1), group)
        with anyio.fail_after(1):
            await program.ended.wait()
        assert (await answer(exec_(4, "true"), group))["exit_code"] == 0
    assert refused == ["the session was closed while it was asked"]


async def test_an_exec_that_its_evaluator_cancels_is_ended_and_others_go_on():
    program = Running()
    async with named_host(program) as place, anyio.create_task_group() as group:
        answer, values, all_told = place.requests.answer, {}, anyio.Event()

        async def ask(request):
            values[request.id] = await answer(request, group)
            if len(values) == 2:
                all_told.set()

        group.start_soon(ask, exec_(1))
        await program.began.wait()
        group.start_soon(ask, exec_(2, "true"))
        await answer(Cancel(kind="cancel", id=3, request=1), group)
        with anyio.fail_after(2):
            await program.ended.wait()
            await all_told.wait()
    assert values[1] is None, "nobody waits for it"
    assert values[2]["exit_code"] == 0


async def test_a_process_whose_number_came_too_late_to_be_taken_is_closed():
    program = Running()
    async with named_host(program) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        opened = Open(kind="open", id=1, name="work", argv=("work",))
        assert await answer(opened, group) == {"process": 1}
        await answer(Cancel(kind="cancel", id=2, request=1), group)
        assert program.ended.is_set()
        with pytest.raises(Refused, match="no such open process"):
            await answer(Wait(kind="wait", id=3, process=1), group)


async def test_a_cancel_of_what_was_answered_does_nothing():
    async with named_host(sleeps) as place, anyio.create_task_group() as group:
        await place.requests.answer(exec_(1, "true"), group)
        assert await place.requests.answer(Cancel(kind="cancel", id=2, request=1), group) is None
        assert (await place.requests.answer(exec_(3, "true"), group))["exit_code"] == 0


async def test_a_process_that_is_cancelled_before_anybody_knows_it_is_ended():
    program = Running()
    async with one_host(program) as host:
        starts = host.engine.exec_start

        @asynccontextmanager
        async def slow_to_answer(exec_id):
            async with starts(exec_id):
                await anyio.sleep_forever()
                yield

        async def end_it():
            await host.end("reset")

        host.engine.exec_start = slow_to_answer
        process = Process(host, ExecOrder(("work",), seconds=60, keep=10), end_it)
        async with anyio.create_task_group() as group:
            group.start_soon(process.run)
            await program.began.wait()
            group.cancel_scope.cancel()
        assert host.ended == "reset"
        with anyio.fail_after(1):
            await program.ended.wait()


async def test_a_host_is_given_back_only_when_the_program_of_a_closed_session_has_ended():
    program = Running()
    async with named_host(program, agents=Agent()) as place, anyio.create_task_group() as group:
        answer = place.requests.answer

        async def ask():
            with pytest.raises(Refused):
                await answer(Invoke(kind="invoke", id=2, session=1, prompt="p"), group)

        await answer(Session(kind="session", id=1, role="r", environment="work"), group)
        group.start_soon(ask)
        await program.began.wait()
        await answer(CloseSession(kind="close_session", id=3, session=1), group)
        assert await answer(Session(kind="session", id=4, role="r", environment="work"), group) == {
            "session": 4
        }
