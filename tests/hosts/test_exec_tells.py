"""What an exec tells: the program's own end, and apart from it what kept a program from running."""

from __future__ import annotations

from types import SimpleNamespace

import anyio
import pytest

import scorehost_sdk
from hosts.exec_places import dies_inside, named_host, one_host, sleeps
from scorehost.errors import AttemptFailed
from scorehost.hosts.blueprint import HARNESS
from scorehost.hosts.exec_ends import NotStarted, code_of_refusal
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.messages import Close, Exec, Open, ReadFile, Receive, Reset, Session, Wait, WriteFile
from scorehost.hosts.processes import Process
from scorehost.hosts.sessions import Refused
from scorehost.model.check import CheckExec
from scorehost.model.exec_result import ExecResult
from scorehost.model.limits import Limits
from trial import IMAGE

pytestmark = pytest.mark.anyio
RUNC = "OCI runtime exec failed: exec failed: unable to start container process: "
ORDER = ExecOrder(("work",), seconds=5, keep=1000)


def exec_(number, *argv):
    return Exec(kind="exec", id=number, name="work", argv=argv)


async def nothing():
    return


def test_the_twin_inside_the_containers_has_the_same_fields():
    told = set(ExecResult.model_fields)
    assert set(scorehost_sdk.ExecResult._fields) == told | {"stdout_bytes", "stderr_bytes"}
    assert set(CheckExec.model_fields) == told | {"truncated"}
    row = scorehost_sdk.evaluation_check(
        "c", status="PASS", exec_result=scorehost_sdk.ExecResult(None, "", "", host_lost=True, reason="oom")
    )
    assert set(row["exec"]) == told | {"truncated"}
    assert CheckExec.model_validate(row["exec"]).reason == "oom"


def test_a_row_of_the_last_release_is_read():
    row = {"exit_code": 1, "stdout": "", "stderr": "", "truncated": True, "timed_out": False}
    read = CheckExec.model_validate({**row, "oom_killed": False, "duration_seconds": 0.5})
    assert (read.truncated, read.stdout_truncated, read.host_lost, read.reason) == (True, False, False, "")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_each_stream_says_for_itself_whether_something_was_left_out(stream):
    async def prints(context):
        await (context.write if stream == "stdout" else context.write_error)(b"x" * 2000)

    async with one_host(prints) as host:
        done = await run_exec(host, ORDER, nothing)
    assert (done.stdout_truncated, done.stderr_truncated) == (stream == "stdout", stream == "stderr")
    assert done.truncated


async def test_a_host_that_printed_too_much_is_told_as_that_and_not_only_as_lost():
    async def floods(context):
        while True:
            await context.write(b"x" * 65536)
            await context.sleep(0)

    limits = Limits(output_total_bytes=1_000_000)
    async with named_host(floods, limits=limits) as place, anyio.create_task_group() as group:
        value = await place.requests.answer(exec_(1, "yes"), group)
    assert (value["host_lost"], value["reason"]) == (True, "output_limit")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ('exec: "no-such": executable file not found in $PATH: unknown', 127),
        ('exec: "/no/such": stat /no/such: no such file or directory: unknown', 127),
        ('exec: "/etc/passwd": permission denied: unknown', 126),
    ],
)
def test_a_program_that_is_not_there_and_one_that_may_not_run_are_told_apart(words, code):
    assert code_of_refusal(RUNC + words) == code


@pytest.mark.parametrize(
    "words",
    [
        RUNC + 'chdir to cwd ("/no/such") set in config.json failed: no such file or directory: unknown',
        "unable to find user nobodyx: no matching entries in passwd file",
        RUNC + "read init-p: connection reset by peer: unknown",
        "",
    ],
)
def test_what_is_no_matter_of_the_program_is_no_exit_code(words):
    with pytest.raises(NotStarted, match="exec could not be started"):
        code_of_refusal(words)


async def test_the_engines_words_are_no_output_of_a_program_that_is_not_there():
    async with named_host(nothing_there) as place, anyio.create_task_group() as group:
        place.engine._programs.pop(1)  # what plays every exec: none is there now
        done = await place.requests.answer(exec_(1, "no-such-program"), group)
        await place.requests.answer(Open(kind="open", id=2, name="work", argv=("no-such-program",)), group)
        out = await place.requests.answer(Receive(kind="receive", id=3, process=2, timeout=5), group)
        end = await place.requests.answer(Wait(kind="wait", id=4, process=2, timeout=5), group)
    assert (done["exit_code"], done["stdout"]) == (127, b"")
    assert b"no-such-program" in done["stderr"]
    assert (out["stdout"], out["ended"], end["exit_code"]) == (b"", True, 127)


async def nothing_there(_context):
    return 0


async def test_a_program_that_prints_the_engines_words_and_ends_with_126_is_believed_to_have_run():
    async def mimics(context):
        await context.write(b"OCI runtime exec failed: chdir to cwd")
        return 126

    async with one_host(mimics) as host:
        done = await run_exec(host, ORDER, nothing)
        process = Process(host, ORDER, nothing)
        async with anyio.create_task_group() as group:
            await group.start(process.run)
            end = await process.wait(5)
    for each in (done, end):
        assert (each.exit_code, each.stdout) == (126, b"OCI runtime exec failed: chdir to cwd")


@pytest.mark.parametrize("how", ["exec", "open"])
async def test_a_working_directory_that_is_not_there_is_told_as_trouble_and_not_as_an_exit_code(how):
    async def refuses(context):
        await context.write((RUNC + 'chdir to cwd ("/no") set in config.json failed').encode())
        return 126

    async with named_host(refuses) as place, anyio.create_task_group() as group:

        async def never_ran(_exec_id):
            return False

        place.engine.exec_ran = never_ran
        answer = place.requests.answer
        with pytest.raises(Refused, match=r"exec could not be started: .*chdir to cwd") as refused:
            if how == "exec":
                await answer(exec_(1, "work"), group)
            else:
                await answer(Open(kind="open", id=1, name="work", argv=("work",)), group)
                await answer(Receive(kind="receive", id=2, process=1, timeout=5), group)
        assert refused.value.kind == "ScoringError"


async def dies_unseen(place):
    """The host ends while nothing is asked of it, as when a daemon in it takes all of its memory."""
    (host,) = place.named._hosts
    await dies_inside(place.engine, host.container)


async def test_a_host_that_ended_unseen_is_told_once_at_the_next_exec_and_is_a_warning():
    async with named_host(nothing_there) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        await dies_unseen(place)
        with pytest.raises(Refused, match="ended between two uses") as refused:
            await answer(exec_(2, "work"), group)
        assert refused.value.kind == "HostLost"
        assert (await answer(exec_(3, "work"), group))["exit_code"] == 0
    assert len(place.warnings) == 1
    assert "the host work ended between two uses" in place.warnings[0]


async def ends(answer, group, request):
    """Whether a request is refused as one whose host has gone, and what it is told."""
    with pytest.raises(Refused, match="ended between two uses") as refused:
        await answer(request, group)
    return refused.value.kind


@pytest.mark.parametrize(
    "request_",
    [
        Open(kind="open", id=2, name="work", argv=("work",)),
        Open(kind="open", id=2, name="work", argv=("python3", "-s", HARNESS)),
        ReadFile(kind="read_file", id=2, name="work", path="/tmp/forbidden", offset=0),
        WriteFile(kind="write_file", id=2, name="work", path="/tmp/x", data=b"", more=False),
        Session(kind="session", id=2, role="judge", environment="work"),
    ],
    ids=["open", "untrusted", "read_file", "write_file", "session"],
)
async def test_a_host_that_ended_unseen_is_told_at_the_next_use_whatever_that_is(request_):
    agents = SimpleNamespace(session=lambda *_: None)
    async with named_host(nothing_there, agents=agents) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        await dies_unseen(place)
        assert await ends(answer, group, request_) == "HostLost"
        assert (await answer(exec_(3, "work"), group))["exit_code"] == 0
    assert len(place.warnings) == 1


@pytest.mark.parametrize("use", ["exec", "open", "session"])
async def test_an_end_between_two_uses_that_somebody_ordered_is_nobodys_who_is_scored(use):
    agents = SimpleNamespace(session=lambda *_: None)
    later = {
        "exec": exec_(2, "work"),
        "open": Open(kind="open", id=2, name="work", argv=("work",)),
        "session": Session(kind="session", id=2, role="judge", environment="work"),
    }[use]
    async with named_host(nothing_there, agents=agents) as place, anyio.create_task_group() as group:
        await place.requests.answer(exec_(1, "work"), group)
        await place.engine.kill(place.named._hosts[0].container)
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(later, group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("host_lost", "environment", True)


async def test_a_fresh_host_that_ended_after_its_use_hides_nothing_and_is_no_loss():
    async with named_host(nothing_there, fresh=True) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        await dies_unseen(place)
        assert (await answer(exec_(2, "work"), group))["exit_code"] == 0
    assert place.warnings == []


@pytest.mark.parametrize("how", ["exec", "open"])
async def test_a_program_for_which_what_ran_before_left_no_room_is_the_submissions_fault(how):
    words = (RUNC + "read init-p: connection reset by peer: unknown").encode()

    async def refuses(context):
        await context.write(words)
        return 126

    async with named_host(refuses) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        assert (await answer(exec_(1, "true"), group))["exit_code"] == 0

        async def never_ran(_exec_id):
            return False

        ran, place.engine.exec_ran = place.engine.exec_ran, never_ran
        with pytest.raises(Refused, match="left it no room: exec could not be started") as refused:
            if how == "exec":
                await answer(exec_(2, "work"), group)
            else:
                await answer(Open(kind="open", id=2, name="work", argv=("work",)), group)
                await answer(Receive(kind="receive", id=3, process=2, timeout=5), group)
        assert refused.value.kind == "SubmissionFault"
        place.engine.exec_ran = ran
        assert (await answer(exec_(4, "true"), group))["exit_code"] == 0
        assert len(place.named._hosts) == 2  # the other had ended with that
    assert place.warnings == []


async def test_a_first_program_that_cannot_be_started_is_trouble_of_the_environment_and_made_again():
    async def refuses(context):
        await context.write((RUNC + "read init-p: connection reset by peer: unknown").encode())
        return 126

    async with named_host(refuses) as place, anyio.create_task_group() as group:
        place.named._images.proven.add(((await place.engine.image(IMAGE)).id, "/"))

        async def never_ran(_exec_id):
            return False

        place.engine.exec_ran = never_ran
        with pytest.raises(AttemptFailed) as failed:
            await place.requests.answer(exec_(1, "work"), group)
    why = failed.value.failure
    assert (why.kind, why.blame, why.retryable) == ("start_failed", "environment", True)
    assert IMAGE in why.message


async def test_a_reset_asks_for_a_clean_host_and_nothing_is_missed_then():
    async with named_host(nothing_there) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(exec_(1, "work"), group)
        await dies_unseen(place)
        await answer(Reset(kind="reset", id=2, name="work"), group)
        assert (await answer(exec_(3, "work"), group))["exit_code"] == 0
    assert place.warnings == []


async def test_an_end_that_was_told_is_not_told_again():
    async def slow(context):
        await context.sleep(60)

    async with named_host(slow) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        late = Exec(kind="exec", id=1, name="work", argv=("work",), timeout=0.1)
        assert (await answer(late, group))["timed_out"]
        assert (await answer(exec_(2, "true"), group))["exit_code"] == 0
    assert place.warnings == []


@pytest.mark.parametrize("looks", [True, False])
async def test_the_end_of_a_host_under_an_open_process_is_told_by_the_process_to_who_looks(looks):
    async with named_host(sleeps) as place, anyio.create_task_group() as group:
        answer = place.requests.answer
        await answer(Open(kind="open", id=1, name="work", argv=("work",)), group)
        await dies_unseen(place)
        if looks:
            assert (await answer(Wait(kind="wait", id=2, process=1, timeout=5), group))["host_lost"]
        await answer(Close(kind="close", id=3, process=1), group)
        if looks:
            assert (await answer(exec_(4, "true"), group))["exit_code"] == 0
        else:
            with pytest.raises(Refused, match="ended between two uses"):
                await answer(exec_(4, "true"), group)
