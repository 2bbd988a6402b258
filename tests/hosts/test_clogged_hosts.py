"""A container that no kill ends, or of which the engine cannot tell, while it works otherwise."""

from __future__ import annotations

import anyio
import pytest

from hosts.exec_places import named_host, one_host, sleeps
from reports.memory_runner import memory_engine, scored_on
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.errors import AttemptFailed, EngineRefused, EngineTimeout
from scorehost.hosts import talk
from scorehost.hosts.messages import Close, Exec, Open, Wait
from scorehost.hosts.requests import Requests
from scorehost.hosts.working import NOBODYS, works
from scorehost.model.limits import Limits
from trial import write_submission, write_task

pytestmark = pytest.mark.anyio
# What Docker says of a container whose processes the kernel takes long to end.
NO_EXIT = "cannot kill container: tried to kill container, but did not receive an exit event"


def clogged(engine, *calls):
    """From now on the engine does not answer these calls of what is there; of what is not there it does."""
    for name in calls:
        plain = getattr(engine, name)

        async def late(what, *args, _plain=plain, **keys):
            if what == NOBODYS:
                return await _plain(what, *args, **keys)
            raise EngineTimeout("the engine did not answer in time")

        async def refused(what, *args, _plain=plain, **keys):
            if what == NOBODYS:
                return await _plain(what, *args, **keys)
            raise EngineRefused(NO_EXIT, status=500)

        setattr(engine, name, refused if name == "kill" else late)


def away(engine):
    """The engine answers nothing at all."""

    async def silent(*_args, **_keys):
        raise EngineTimeout("the engine did not answer in time")

    for name in ("info", "exec_exit_code", "inspect", "kill", "exec_create"):
        setattr(engine, name, silent)


def exec_(number, *argv, timeout=None):
    return Exec(kind="exec", id=number, name="work", argv=argv, timeout=timeout)


async def succeeds(_context):
    return 0


async def test_an_engine_works_when_it_says_of_what_is_not_there_that_it_is_not_there():
    async with one_host(sleeps) as host:
        clogged(host.engine, "kill", "exec_exit_code", "inspect", "exec_create")
        assert await works(host.engine)
        away(host.engine)
        assert not await works(host.engine)


async def test_a_named_host_that_no_kill_ends_is_told_as_timed_out_and_the_next_use_is_clean():
    async with named_host(sleeps) as place, anyio.create_task_group() as group:
        clogged(place.engine, "kill")
        answer = place.requests.answer
        late = await answer(exec_(1, "work", timeout=0.1), group)
        assert (late["timed_out"], late["exit_code"], late["reason"]) == (True, 124, "timed_out")
        assert (await answer(exec_(2, "true"), group))["exit_code"] == 0
    assert len(place.named._hosts) == 2
    (warning,) = place.warnings
    assert "did not end when it was killed" in warning


async def test_closing_a_process_in_a_host_that_no_kill_ends_takes_no_verdict_away():
    async with named_host(sleeps) as place, anyio.create_task_group() as group:
        clogged(place.engine, "kill")
        answer = place.requests.answer
        await answer(Open(kind="open", id=1, name="work", argv=("work",)), group)
        await answer(Close(kind="close", id=2, process=1), group)
        assert (await answer(exec_(3, "true"), group))["exit_code"] == 0
        group.cancel_scope.cancel()


async def test_an_exec_of_which_the_engine_cannot_tell_is_a_lost_host_and_no_engines_fault():
    async with named_host(succeeds) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        assert (await answer(exec_(1, "work"), group))["exit_code"] == 0
        clogged(place.engine, "exec_exit_code")
        told = await answer(exec_(2, "work"), group)
        assert (told["exit_code"], told["host_lost"], told["reason"]) == (None, True, "lost")


async def test_an_exec_that_the_engine_cannot_prepare_after_another_ran_is_a_lost_host():
    async with named_host(succeeds) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        clogged(place.engine, "exec_create")
        assert (await answer(exec_(2, "work"), group))["host_lost"]


async def test_an_open_process_of_which_the_engine_cannot_tell_is_told_as_lost():
    async with named_host(succeeds) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        clogged(place.engine, "exec_exit_code")
        await answer(Open(kind="open", id=2, name="work", argv=("work",)), group)
        end = await answer(Wait(kind="wait", id=3, process=2, timeout=5), group)
        assert (end["exit_code"], end["host_lost"]) == (None, True)


async def test_where_nothing_had_run_it_is_the_engines_and_made_again():
    async with named_host(succeeds) as place, anyio.create_task_group() as group:
        place.named._images.proven.add(((await place.engine.image("scorehost/python:3")).id, "/"))
        clogged(place.engine, "exec_create")
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(exec_(1, "work"), group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("engine_lost", "engine", True)


async def test_an_engine_that_answers_nothing_is_lost_whatever_had_run():
    async with named_host(succeeds) as place, anyio.create_task_group() as group:
        await place.requests.answer(exec_(1, "work"), group)
        away(place.engine)
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(exec_(2, "work"), group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("engine_lost", "engine", True)


async def test_beside_the_evaluator_it_is_the_submissions_fault_and_never_made_again():
    async with one_host(succeeds) as host, anyio.create_task_group() as group:
        object.__setattr__(host.blueprint, "evaluator", True)
        host.greeted = True
        beside = Requests(_NoNames(), host, single=True, limits=Limits())
        run = Exec(kind="exec", id=1, name=None, argv=("work",))
        await beside.answer(run, group)
        clogged(host.engine, "exec_exit_code")
        with pytest.raises(AttemptFailed) as failed:
            await beside.answer(run.model_copy(update={"id": 2}), group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("submission_fault", "submission", False)


class _NoNames:
    def file(self, _name, _outcome):
        """Nothing is kept."""


async def test_an_evaluator_past_its_time_whose_host_no_kill_ends_is_too_late(tmp_path, job_id, monkeypatch):
    monkeypatch.setattr(talk, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(talk, "UNHEARD_SECONDS", 0.1)

    async def program(context):
        await MemoryRunner.greeted(context)
        await context.sleep(60)

    root = write_task(tmp_path / "d", "", limits={"evaluate_seconds": 1})
    async with memory_engine(program) as engine:
        clogged(engine, "kill")
        with anyio.fail_after(30):
            done = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert done.kind == "evaluator_timeout"
    assert any("did not end when it was killed" in warning for warning in done.result.warnings)
