"""Each call to the engine fails once, hangs, is cut or late: one container, no output lost, no wrong blame."""

from __future__ import annotations

import functools

import anyio
import pytest
from chaos_kit import BESIDE, ROUNDS, Findings, left_on_engine, read, write_dataset
from faulty_engine import CALLS, coalesced, faulty_engine, split

from scorehost.engine import docker_engine, hijack
from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

FAULTS = ("500", "500 after", "cut", "cut after", "hang", "hang after", "late")
KEYS = ["t/solution/1.1"]
SHORT = [
    ("create", "500 after"),
    ("create", "hang after"),
    ("upload", "cut"),
    ("attach", "500"),
    ("start", "cut after"),
    ("exec create", "500"),
    ("exec start", "500"),
    ("exec inspect", "hang"),
    ("remove", "cut after"),
]
EVERY = [(call, fault) for call in CALLS for fault in FAULTS if (call, fault) != ("events", "500 after")]
PAIRS = EVERY if ROUNDS else SHORT


@pytest.fixture
def impatient(monkeypatch):
    """Times for an answer that suit a test; the engine itself answers in milliseconds, or a second or two."""
    monkeypatch.setattr(docker_engine, "Call", functools.partial(docker_engine.Call, seconds=4.0))
    for name in ("CREATE_SECONDS", "START_SECONDS", "REMOVE_SECONDS", "UPLOAD_SECONDS"):
        monkeypatch.setattr(docker_engine, name, 4.0)
    monkeypatch.setattr(hijack, "Request", functools.partial(hijack.Request, head_seconds=4.0))


@pytest.fixture
def endpoint():
    found = resolve(None)
    if found.kind != "unix":
        pytest.skip("the engine is not reached by a socket of this machine")
    return found.address


def blames(folder):
    """The kind and blame of every ERROR, of earlier tries too."""
    paths = [*folder.glob("attempts/*/*/*/result.json"), *folder.glob("tries/*/*/*/*/result.json")]
    errors = [read(path)["error"] for path in paths]
    return {(error["kind"], error["blame"]) for error in errors if error is not None}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("call", "fault"), PAIRS)
async def test_one_bad_answer_costs_no_verdict_and_blames_nobody_who_wrote_or_handed_in(
    tmp_path, short, endpoint, run, created, call, fault
):
    root = write_dataset(tmp_path / "d", {"t": BESIDE})
    async with faulty_engine(short / "e", endpoint) as faulty, open_engine(faulty.host) as engine:
        await engine.info()
        faulty.arm(call, fault)
        with anyio.fail_after(100):
            outcome = await run(engine, root)
    assert faulty.hit == 1 or call in ("wait", "inspect", "info"), faulty.seen
    assert [row.status for row in outcome.rows] == ["PASS"], (outcome.message, outcome.rows)
    assert outcome.exit_status == 0
    assert {blame for _, blame in blames(outcome.folder)} <= {"engine", "environment"}
    tries = 1 + len(list(outcome.folder.glob("tries/*/*/*/*")))
    assert tries <= 2
    assert left_on_engine(outcome.folder.name) == []
    assert len(created(outcome.folder.name)) <= 2 * tries
    found = Findings()
    found.look_at_the_end(outcome.folder, KEYS, {})
    assert found.clean, found
