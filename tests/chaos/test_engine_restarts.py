"""The engine goes away in the middle of a job, for a moment or for good: nothing is lost, none blamed."""

from __future__ import annotations

import signal
import time

import anyio
import anyio.to_thread
import pytest
from chaos_kit import ALONE, BESIDE, LONG, ROUNDS, Findings, finished, read, write_dataset
from second_engine import SecondEngine, bridges, missing

from scorehost.api import open_scorer
from scorehost.engine import pulse
from scorehost.engine.opening import open_engine
from scorehost.hosts import labels
from scorehost.jobs import gate

# The docker SDK leaves the socket of a connection that was refused to the garbage collector.
pytestmark = [
    pytest.mark.docker,
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

TASKS = 10
RIGHT = {"answer": b"42"}
KEYS = [f"t{number}/solution/1.1" for number in range(TASKS)]
PAUSE = "\nimport time\ntime.sleep(0.7)\n"


@pytest.fixture(scope="module")
def second():
    if missing():
        pytest.skip(missing())
    before = bridges()
    engine = SecondEngine()
    try:
        engine.start()
        engine.load()
        yield engine
    finally:
        engine.clear()
    assert bridges() >= before, "it took away what belongs to the first engine"


@pytest.fixture
def ten(tmp_path):
    return write_dataset(
        tmp_path / "d", {f"t{n}": (BESIDE if n % 2 else ALONE) + PAUSE for n in range(TASKS)}
    )


async def after(run, number, act):
    """Calls `act` in a thread once so many attempts have ended and another one is evaluating."""
    seen = None
    with anyio.fail_after(120):
        while seen is None or not any(event.fields.get("phase") == "evaluate" for event in run.events[seen:]):
            assert "job_finished" not in run.kinds(), [event.fields for event in run.events[-3:]]
            if seen is None and run.kinds().count("attempt_finished") >= number:
                seen = len(run.events)
            await anyio.sleep(0.02)
    await anyio.to_thread.run_sync(act)


def errors_of(folder):
    """Every ERROR of a try, as (kind, blame)."""
    results = [read(path) for path in folder.glob("[at]*/*/*/**/result.json")]
    return [(one["error"]["kind"], one["error"]["blame"]) for one in results if one["error"]]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM] if ROUNDS else [signal.SIGKILL])
async def test_an_engine_that_restarts_in_the_middle_costs_tries_and_no_verdict(second, ten, run, number):
    def restart():
        second.end(number)
        second.start()

    async with open_engine(second.host) as engine, anyio.create_task_group() as group:
        group.start_soon(after, run, 3, restart)
        outcome = await run(engine, ten, concurrency=3)
    assert [row.status for row in outcome.rows] == ["PASS"] * TASKS, (outcome.message, outcome.rows)
    assert (outcome.status, outcome.exit_status) == ("complete", 0)
    lost = errors_of(outcome.folder)
    assert lost, "no attempt ran on it when it ended"
    assert set(lost) == {("engine_lost", "engine")}
    found = Findings()
    found.look_at_the_end(outcome.folder, KEYS, {})
    assert found.clean, found
    assert second.objects() == [], run.said


@LONG
@pytest.mark.timeout(600)
async def test_an_engine_that_is_gone_for_good_ends_the_job_and_a_resume_does_the_rest(
    second, ten, run, monkeypatch
):
    monkeypatch.setattr(gate, "PATIENCE_SECONDS", 3.0)
    async with open_engine(second.host) as engine, anyio.create_task_group() as group:
        group.start_soon(after, run, 3, lambda: second.end(signal.SIGKILL))
        first = await run(engine, ten, concurrency=3)
    assert (first.status, first.exit_status) == ("incomplete", 2)
    assert "--resume" in first.message
    assert {row.status for row in first.rows} == {"PASS"}
    assert 3 <= len(first.rows) < TASKS
    taken = sum(kind == "attempt_started" for kind in run.kinds())
    assert taken <= len(first.rows) + 3, "no attempt is taken while the engine does not answer"
    before = finished(first.folder)
    await anyio.to_thread.run_sync(second.start)
    async with open_engine(second.host) as engine:
        ended = await run(engine, ten, resume=str(first.folder))
    assert (ended.status, ended.exit_status, len(ended.rows)) == ("complete", 0, TASKS)
    found = Findings()
    found.look_at_the_end(first.folder, KEYS, before)
    assert found.clean, found
    assert second.objects() == [], run.said


@pytest.mark.timeout(300)
async def test_an_engine_that_is_stopped_is_engine_lost_and_holds_up_no_cancel_and_no_close(
    second, tmp_path, monkeypatch
):
    """Stopped by SIGSTOP it takes connections and answers nothing."""
    monkeypatch.setattr(pulse, "STALL_SECONDS", 2.0)
    monkeypatch.setattr(pulse, "PING_SECONDS", 1.0)
    root = write_dataset(tmp_path / "d", {"t0": ALONE})
    profiles = tmp_path / "profiles.yaml"
    profiles.write_text(
        f"format: scorehost.profiles/1\nenvironment: docker\nengine: {{host: '{second.host}'}}\n"
        "evaluate_host: {warm: 0}\n"
    )
    close = pulse.CLOSE_SECONDS + 1  # a busy machine's second
    try:
        async with open_scorer(root, profiles=profiles) as scorer:
            await scorer.score("t0", RIGHT)
            second.tell(signal.SIGSTOP)
            begun = time.monotonic()
            lost = await scorer.score("t0", RIGHT)
            assert (lost.error.kind, lost.error.blame, lost.error.retryable) == (
                "engine_lost",
                "engine",
                True,
            )
            assert time.monotonic() - begun < 2.0 + 1.0 + close
            await anyio.sleep(pulse.REMEMBER_SECONDS)  # or the next call is told at once
            begun = time.monotonic()
            with anyio.move_on_after(0.2):
                await scorer.score("t0", RIGHT)
            assert time.monotonic() - begun < 0.2 + close
            begun = time.monotonic()
        assert time.monotonic() - begun < close
    finally:
        second.tell(signal.SIGCONT)
        async with open_engine(second.host) as engine:
            for left in await engine.list_containers({labels.JOB: None}):
                await engine.remove(left.id)
