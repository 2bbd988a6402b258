"""How long a signal takes to give the prompt back, with eight attempts that will not end by themselves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress

import anyio
import pytest
from chaos_kit import LONG, command, jobs_in, left_on_engine, read, scorehost, write_dataset
from faulty_engine import faulty_engine

from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine

pytestmark = pytest.mark.docker

EIGHT = 8
OBJECTS = EIGHT + 2 * (EIGHT // 2)  # a container for each evaluator; container and volume of each host beside
PROMPT_SECONDS = 15.0
GONE_SECONDS = 5.0
DEAF = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

def evaluate(inputs):
    while True:
        time.sleep(60)
"""
# Its one host runs something deaf too.
DEAF_BESIDE = DEAF.replace(
    "    while True:",
    """    script = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    inputs["scoring"].exec("work", ["python3", "-c", script])
    while True:""",
)


@pytest.fixture
def eight(tmp_path):
    """Eight attempts that run, each of a task of its own; every second one with two hosts."""
    dataset = write_dataset(tmp_path / "d", {f"t{n}": DEAF_BESIDE if n % 2 else DEAF for n in range(EIGHT)})
    started = []

    def start(host=None):
        words = ("run", dataset, "--submission", "solution", "--concurrency", EIGHT, "--out", tmp_path / "r")
        env = {**os.environ, **({"DOCKER_HOST": host} if host else {})}
        process = subprocess.Popen(
            command("-v", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )
        started.append(process)
        evaluating = 0
        for line in process.stderr:
            evaluating += "evaluate" in line
            if evaluating == EIGHT:
                break
        assert evaluating == EIGHT
        (folder,) = jobs_in(tmp_path / "r")
        deadline = time.monotonic() + 60
        while len(left_on_engine(folder.name)) < OBJECTS:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        time.sleep(1)
        return process, folder

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_gives_the_prompt_back_within_15_seconds_and_nothing_is_left(
    eight, number, record_property
):
    process, folder = eight()
    begun = time.monotonic()
    process.send_signal(number)
    said, complaint = process.communicate(timeout=60)
    spent = time.monotonic() - begun
    record_property("seconds", round(spent, 2))
    print(f"{number.name}: {spent:.2f} s to the prompt with {EIGHT} running attempts")
    assert process.returncode == 130
    assert spent < PROMPT_SECONDS
    assert left_on_engine(folder.name) == []
    assert "Traceback" not in complaint
    assert "--resume" in said
    assert read(folder / "summary.json")["status"] == "interrupted"
    assert not [path for path in (folder / "attempts").rglob("*") if path.is_file()]


def test_two_signals_in_one_moment_leave_nothing(eight):
    """As a supervisor sends them, or a person who is in a hurry."""
    process, folder = eight()
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    _, complaint = process.communicate(timeout=60)
    assert time.monotonic() - begun < 6
    assert process.returncode == 130
    left = left_on_engine(folder.name)
    assert left == [] or f"scorehost clean --job {folder.name}" in complaint
    if left:  # a machine that is too busy for that says so
        assert scorehost("clean", "--job", folder.name).returncode == 0
    assert left_on_engine(folder.name) == []


def test_a_third_signal_ends_it_at_once_and_names_the_command_that_cleans_up(eight):
    process, folder = eight()
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if "stopping" in line:
            break
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)  # two of one kind that come together count as one
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert time.monotonic() - begun < 1.2
    assert process.returncode == 130
    (named,) = re.findall(r"scorehost clean --job (\S+)", complaint)
    assert named == folder.name
    assert scorehost("clean", "--job", named).returncode == 0
    assert left_on_engine(folder.name) == []


@LONG
@pytest.mark.anyio
async def test_eight_hosts_whose_main_process_is_deaf_are_gone_within_5_seconds(tmp_path, run):
    dataset = write_dataset(tmp_path / "d", {f"t{n}": DEAF for n in range(EIGHT)})
    stop = anyio.Event()

    async def stops():
        while sum(event.fields.get("phase") == "evaluate" for event in run.events) < EIGHT:  # noqa: ASYNC110
            await anyio.sleep(0.05)
        await anyio.sleep(1)
        begun.append(time.monotonic())
        stop.set()

    begun = []
    async with open_engine() as engine, anyio.create_task_group() as group:
        group.start_soon(stops)
        outcome = await run(engine, dataset, stop=stop, concurrency=EIGHT)
    spent = time.monotonic() - begun[0]
    print(f"8 deaf hosts: {spent:.2f} s until all were gone")
    assert left_on_engine(outcome.folder.name) == []
    assert spent < GONE_SECONDS
    assert outcome.exit_status == 130


@LONG
@pytest.mark.anyio
@pytest.mark.parametrize("call", ["remove", "create"])
async def test_an_engine_that_hangs_does_not_hold_up_a_person_who_wants_out(tmp_path, short, call):
    endpoint = resolve(None)
    if endpoint.kind != "unix":
        pytest.skip("the engine is not reached by a socket of this machine")
    dataset = write_dataset(tmp_path / "d", {"t0": DEAF})
    async with faulty_engine(short / "e", endpoint.address) as faulty:
        faulty.arm(call, "hang", times=1_000)
        words = command("-v", "run", dataset, "--submission", "solution", "--out", tmp_path / "r")
        env = {**os.environ, "DOCKER_HOST": faulty.host}
        process = await anyio.open_process(words, env=env)
        try:
            said = b""
            with anyio.fail_after(60):
                while (b"evaluate" if call == "remove" else b"start") not in said:
                    said += await process.stderr.receive()
                await anyio.sleep(1)
                process.send_signal(signal.SIGINT)
                begun = time.monotonic()
                async for data in process.stderr:
                    said += data
                await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.aclose()
    spent = time.monotonic() - begun
    (folder,) = jobs_in(tmp_path / "r")
    assert scorehost("clean", "--job", folder.name).returncode == 0
    assert left_on_engine(folder.name) == []
    print(f"an engine that hangs on {call}: {spent:.2f} s")
    assert process.returncode == 130
    assert spent < PROMPT_SECONDS
    if call == "remove":
        assert f"scorehost clean --job {folder.name}" in said.decode()
