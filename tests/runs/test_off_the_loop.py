"""While attempts run, nothing of files happens in the event loop, and those that end together share syncs."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import asynccontextmanager

import anyio
import pytest

from scorehost.api import Running, ScoreAsked, run
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.errors import UsageError
from scorehost.runs import claim
from scorehost.runs import writer as writing
from scorehost.runs.journal import FILE, read_history
from trial import write_task

pytestmark = pytest.mark.anyio

CALLS = ("fsync", "sync", "mkdir", "rename", "link", "unlink", "open")
SYNCS = ("fsync", "sync")
AT_A_TIME = 8


async def passing(context):
    try:
        runner = await MemoryRunner.greeted(context)
    except EOFError:  # a host that was made ahead, and not needed
        return 3
    value = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
    usage = {"peak_memory_bytes": None, "cpu_seconds": None}
    await runner.say({"kind": "result", "value": value, "usage": usage, "trees": runner.trees})
    return 0


@asynccontextmanager
async def in_memory(_host=None):
    async with MemoryEngine() as engine:
        engine.images.add("scorehost/python:3")
        engine.program(lambda launch: launch.main, passing)
        yield engine


@pytest.fixture
def dataset(tmp_path):
    root = write_task(tmp_path / "d", "def evaluate(inputs): return {'status': 'PASS'}", gold={"g.txt": b"g"})
    (task,) = (root / "tasks").iterdir()
    for path in ("artifacts/answer.txt", "artifacts/tree/x.txt"):
        place = task / "solution" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("42")
    return root


async def job(tmp_path, dataset, watch=lambda _event: None):
    asked = ScoreAsked(dataset=dataset, submissions=("solution",), repeat=24)
    running = Running(out=tmp_path / "runs", concurrency=AT_A_TIME)
    return await run(asked, running, watch, anyio.Event(), engine=in_memory)


async def test_no_file_call_of_running_attempts_is_made_by_the_event_loop(tmp_path, dataset, monkeypatch):
    loop, running, ours = threading.get_ident(), [False], []
    runs = str(tmp_path / "runs")

    def watched(name):
        plain = getattr(os, name)

        def call(*args, **words):
            if running[0] and threading.get_ident() == loop and (name in SYNCS or runs in str(args[0])):
                ours.append((name, *map(str, args[:1])))
            return plain(*args, **words)

        return call

    def watch(event):
        running[0] = running[0] or event.kind == "attempt_started"
        if event.kind == "attempt_finished":
            finished.append(event.key)
            running[0] = len(finished) < 24

    finished = []
    for name in CALLS:
        monkeypatch.setattr(os, name, watched(name))
    outcome = await job(tmp_path, dataset, watch)
    assert (outcome.status, len(outcome.rows)) == ("complete", 24)
    assert ours == []


async def test_attempts_that_end_together_share_a_round_of_syncs(tmp_path, dataset, monkeypatch):
    rounds, plain = [], writing.durable_or_not

    def counted(paths):
        wanted = list(paths)
        rounds.append({path for path in map(str, wanted) if path.endswith(".draft")})  # the folders of drafts
        return plain(wanted)

    monkeypatch.setattr(writing, "durable_or_not", counted)
    outcome = await job(tmp_path, dataset)
    assert outcome.status == "complete"
    assert max(len(found) for found in rounds) > 1


async def test_lines_of_the_journal_are_in_the_order_of_the_events(tmp_path, dataset):
    events = []
    outcome = await job(tmp_path, dataset, lambda event: events.append((event.kind, str(event.key))))
    history = read_history(outcome.folder / FILE)
    assert (history.torn, history.broken, history.last) == (b"", None, outcome.root_hash)
    lines = [line for line in (outcome.folder / FILE).read_text().splitlines() if '"phase"' in line]
    told = [pair for pair in events if pair[0] == "phase"]
    assert [line.split('"key":"')[1].split('"')[0] for line in lines] == [key for _, key in told]


async def test_a_jobs_folder_is_opened_and_closed_outside_the_event_loop(tmp_path, dataset, monkeypatch):
    loop, ours = threading.get_ident(), []
    for name in ("flock", "lockf"):
        plain = getattr(fcntl, name)

        def call(*args, plain=plain, name=name):
            if threading.get_ident() == loop:
                ours.append(name)
            return plain(*args)

        monkeypatch.setattr(fcntl, name, call)
    real = claim.remove_tree
    monkeypatch.setattr(
        claim,
        "remove_tree",
        lambda path: (ours.append(path) if threading.get_ident() == loop else None, real(path)),
    )
    outcome = await job(tmp_path, dataset)
    assert outcome.status == "complete"
    assert ours == []


async def test_a_runs_folder_that_somebody_holds_is_told_and_the_loop_goes_on_meanwhile(
    tmp_path, dataset, monkeypatch
):
    monkeypatch.setattr(claim, "MOMENT_SECONDS", 0.5)
    (tmp_path / "runs").mkdir()
    handle = os.open(tmp_path / "runs", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)  # as a process does that was stopped while it made a folder
    turns = 0

    async def turning():
        nonlocal turns
        while True:
            await anyio.sleep(0.02)
            turns += 1

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(turning)
            with pytest.raises(UsageError, match=r"has held .*/runs for 0.5 s") as refused:
                await job(tmp_path, dataset)
            group.cancel_scope.cancel()
    finally:
        os.close(handle)
    assert "fuser" in refused.value.hint
    assert turns >= 10
