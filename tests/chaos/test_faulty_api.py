"""Each call to the engine fails once, hangs, is cut or late: one container, all output, no wrong blame."""

from __future__ import annotations

import functools

import anyio
import pytest
from chaos_kit import BESIDE, LONG, ROUNDS, Findings, left_on_engine, read, write_dataset
from faulty_engine import CALLS, coalesced, faulty_engine, split

from scorehost.engine import docker_engine, hijack
from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine

# The docker SDK leaves the socket of a connection that failed to the garbage collector.
pytestmark = [
    pytest.mark.docker,
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

FAULTS = ("500", "500 after", "cut", "cut after", "hang", "hang after", "late")
KEYS = ["t/solution/1.1"]
SHORT = [
    ("create", "500 after"),
    ("upload", "cut"),
    ("start", "cut after"),
    ("exec start", "500"),
    ("remove", "cut after"),
]
STREAMS = {"attach", "exec start", "events", "wait"}  # their answer's head comes first and says nothing
EVERY = [(call, fault) for call in CALLS for fault in FAULTS]
RARE = {"wait", "inspect", "info"}  # not asked in every attempt


@pytest.fixture
def impatient(monkeypatch):
    """Times for an answer that suit a test; the engine itself answers in milliseconds, or a second or two."""
    monkeypatch.setattr(docker_engine, "Call", functools.partial(docker_engine.Call, seconds=4.0))
    for name in ("CREATE_SECONDS", "START_SECONDS", "REMOVE_SECONDS", "UPLOAD_SECONDS"):
        monkeypatch.setattr(docker_engine, name, 4.0)
    monkeypatch.setattr(hijack, "Request", functools.partial(hijack.Request, head_seconds=4.0))


@pytest.fixture
async def faulty(anyio_backend, short):
    endpoint = resolve(None)
    if endpoint.kind != "unix":
        pytest.skip("the engine is not reached by a socket of this machine")
    async with faulty_engine(short / "e", endpoint.address) as proxy:
        yield proxy


@pytest.fixture
async def engine(faulty):
    async with open_engine(faulty.host) as opened:
        await opened.info()
        yield opened


def errors_of(folder):
    """(kind, blame) of every ERROR, of earlier tries too."""
    paths = [*folder.glob("attempts/*/*/*/result.json"), *folder.glob("tries/*/*/*/*/result.json")]
    errors = [read(path)["error"] for path in paths]
    return {(error["kind"], error["blame"]) for error in errors if error is not None}


def sound(folder, keys=KEYS):
    found = Findings()
    found.look_at_the_end(folder, keys, {})
    assert found.clean, found
    assert left_on_engine(folder.name) == []


@pytest.fixture
async def beside(faulty, engine, run, tmp_path):
    """Runs a job of one attempt with two hosts, after the fault that is armed."""

    async def go(call, fault, *, evaluator=BESIDE, times=1, limits=None, **options):
        root = write_dataset(tmp_path / "d", {"t": evaluator}, limits=limits)
        faulty.arm(call, fault, times=times)
        with anyio.fail_after(100):
            return await run(engine, root, **options)

    return go


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("call", "fault"), EVERY if ROUNDS else SHORT)
async def test_one_bad_answer_costs_no_verdict_and_blames_no_author(beside, faulty, created, call, fault):
    outcome = await beside(call, fault)
    assert faulty.hit == 1 or call in RARE, faulty.seen
    assert [row.status for row in outcome.rows] == ["PASS"], (outcome.message, outcome.rows)
    assert outcome.exit_status == 0
    assert {blame for _, blame in errors_of(outcome.folder)} <= {"engine", "environment"}
    tries = 1 + len(list(outcome.folder.glob("tries/*/*/*/*")))
    assert tries <= 2
    assert len(created(outcome.folder.name)) <= 2 * tries
    sound(outcome.folder)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["500", "cut", "hang"] if ROUNDS else ["500"])
@pytest.mark.parametrize("call", ["exec create", "exec start", "exec inspect"] if ROUNDS else ["exec start"])
async def test_an_engine_that_never_runs_an_exec_is_an_error_of_its_own_and_no_fail(beside, call, fault):
    outcome = await beside(call, fault, times=1_000, limits={"evaluate_seconds": 10, "exec_seconds": 3})
    (row,) = outcome.rows
    assert (row.status, row.error.kind, row.error.blame.value) == ("ERROR", "engine_lost", "engine")
    assert row.error.phase.value == "evaluate"
    assert outcome.exit_status == 2, "nothing was scored for want of an engine"
    sound(outcome.folder)


@pytest.mark.usefixtures("impatient")
async def test_an_engine_that_hangs_longer_than_the_evaluator_may_take_is_not_the_evaluators_fault(beside):
    outcome = await beside("exec start", "hang", limits={"evaluate_seconds": 2})
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.rows
    assert errors_of(outcome.folder) == {("engine_lost", "engine")}


@LONG
@pytest.mark.usefixtures("impatient")
async def test_an_engine_that_is_slow_to_tell_how_a_process_ended_makes_no_time_out_of_it(beside):
    # Three seconds for the process; the engine answers how it ended after four, and then at once.
    outcome = await beside("exec inspect", "hang", limits={"exec_seconds": 3})
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.rows


PRINTS = """
def evaluate(inputs):
    right = b"".join(b"%07d\\n" % number for number in range(25_000))
    print("the evaluator speaks")
    script = "import sys\\nfor n in range(25_000): print('%07d' % n)\\nprint('end', file=sys.stderr)"
    for _ in range(3):
        done = inputs["scoring"].exec("work", ["python3", "-c", script])
        assert done.exit_code == 0
        if (done.stdout_bytes, done.stderr) != (right, "end\\n"):
            return {"status": "FAIL", "metrics": {"bytes": len(done.stdout_bytes)}}
    return {"status": "PASS"}
"""


@pytest.mark.parametrize("relay", [coalesced, split] if ROUNDS else [coalesced])
async def test_no_output_is_lost_however_the_packets_are_cut(beside, faulty, relay):
    faulty.relay = relay
    outcome = await beside("info", "late", times=0, evaluator=PRINTS)
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.rows
    log = outcome.folder / "attempts/t/solution/1.1/logs/evaluator.log"
    assert log.read_text() == "the evaluator speaks\n"
    sound(outcome.folder)


TAKES_LONG = """
def evaluate(inputs):
    script = "import sys, time\\nprint('first', flush=True)\\ntime.sleep(3)\\nprint('last')"
    done = inputs["scoring"].exec("work", ["python3", "-c", script])
    return {"status": "PASS" if done.stdout == "first\\nlast\\n" else "FAIL"}
"""


async def test_connections_that_all_break_in_the_middle_are_no_end_of_the_output(
    faulty, engine, run, tmp_path
):
    root = write_dataset(tmp_path / "d", {"t": TAKES_LONG})
    broken = []

    async def breaks():
        with anyio.fail_after(60):
            # The proxy tells no event.
            while not any("/exec/" in line and "/start" in line for line in faulty.seen):  # noqa: ASYNC110
                await anyio.sleep(0.02)
            await anyio.sleep(1)
        broken.append(faulty.break_all())

    async with anyio.create_task_group() as group:
        group.start_soon(breaks)
        with anyio.fail_after(100):
            outcome = await run(engine, root)
    assert broken[0] >= 3, "the evaluator's stream, the process's, the events"
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.rows
    assert errors_of(outcome.folder) == {("engine_lost", "engine")}
    sound(outcome.folder)


@pytest.mark.parametrize("seconds", [3, 60])
async def test_a_cut_of_the_evaluators_stream_alone_is_no_end_of_the_evaluator(beside, faulty, seconds):
    evaluator = f"import time\ndef evaluate(_):\n    time.sleep({seconds})\n    return {{'status': 'PASS'}}\n"
    outcome = await beside("attach", "cut later", evaluator=evaluator, retry_errors=0)
    assert faulty.hit == 1
    assert errors_of(outcome.folder) == {("engine_lost", "engine")}
    sound(outcome.folder)
