"""Hosts to look into, on a real engine: kept ones stay until they are cleaned, a shell's goes with it."""

from __future__ import annotations

import shlex
import subprocess

import anyio
import pytest

from scorehost import api
from scorehost.engine.opening import open_engine
from scorehost.files.lease import Lease, Standing
from scorehost.hosts.clean import clean as clean_engine
from scorehost.hosts.clean import clean_job

pytestmark = pytest.mark.docker


@pytest.fixture
def task(tmp_path):
    api.init(tmp_path / "data")
    return tmp_path / "data" / "tasks" / "count-words"


def score(task, submission, keep):
    told = []

    async def main():
        return await api.score(task, submission, told.append, keep=keep, out=task.parents[1] / "runs")

    outcome = anyio.run(main)
    texts = [event.fields["text"] for event in told if event.kind == "warning"]
    return outcome, [text for text in texts if text.startswith("kept ")]


def output(command, *argv):
    """What a program prints that is run in the place of the shell that `command` would open."""
    words = [word for word in shlex.split(command) if word != "-it"]
    done = subprocess.run([*words[:-1], *argv], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def test_a_kept_host_is_entered_by_the_printed_command_and_goes_when_it_is_asked_for(task, monkeypatch):
    outcome, kept = score(task, "solution", "always")
    try:
        (line,) = kept
        assert line.endswith("; the gold set lies in it")
        start, _, enter = line.removeprefix("kept evaluator: ").partition("; ")[0].partition(" && ")
        subprocess.run(shlex.split(start), check=True, capture_output=True, timeout=60)
        assert output(enter, "cat", "/attempt/evaluation/expected.json") != ""
        monkeypatch.setattr(Lease, "standing", lambda _lease: Standing.DEAD)
        assert anyio.run(sweep_of, outcome.job_id) == []
    finally:
        report = anyio.run(remove, outcome.job_id)
    assert "container" in {item.kind for item in report.removed}


async def sweep_of(job):
    """What the sweep at the begin of another job would take of this one."""
    async with open_engine() as engine:
        wanted = {"scorehost.job": job}
        before = {item.name for item in await engine.list_containers(wanted)}
        await clean_job(engine, job)
        return sorted(before - {item.name for item in await engine.list_containers(wanted)})


async def remove(job):
    async with open_engine() as engine:
        return await clean_engine(engine, job=job, force=True)


def test_of_attempts_that_end_well_nothing_is_kept_for_errors(task):
    _outcome, kept = score(task, "solution", "error")
    assert kept == []  # and the fixture of all docker tests finds nothing on the engine


def test_an_attempt_that_ends_as_error_is_kept(task):
    (task / "evaluator.py").write_text("def evaluate(inputs):\n    raise ValueError\n")
    outcome, kept = score(task, "solution", "error")
    anyio.run(remove, outcome.job_id)
    assert (outcome.rows[0].status, len(kept)) == ("ERROR", 1)


def test_a_shell_opens_in_a_host_with_submission_and_gold_and_leaves_nothing(task):
    async def main():
        async with api.look_into(task, lambda _text: None) as look:
            return look.gold, await anyio.to_thread.run_sync(
                output, shlex.join(look.argv), "ls", "/attempt/artifacts", "/attempt/evaluation"
            )

    gold, listed = anyio.run(main)
    assert gold
    assert {"counts.json", "expected.json"} <= set(listed.split())
