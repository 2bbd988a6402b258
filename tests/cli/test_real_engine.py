"""The command line on a real engine: from a new dataset to a table, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.docker

SLOW = "import time\n\ndef evaluate(inputs):\n    time.sleep(300)\n"


def words(*args):
    return [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, args)]


def call(*args, **environment):
    env = {**os.environ, **environment}
    return subprocess.run(words(*args), capture_output=True, text=True, env=env, timeout=120, check=False)


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    assert call("init", folder).returncode == 0
    return folder


def left_on_engine(job):
    """Names of containers and volumes that carry the job's label."""
    label = f"label=scorehost.job={job}"
    containers = ["docker", "ps", "-aq", "--filter", label]
    volumes = ["docker", "volume", "ls", "-q", "--filter", label]
    return [
        line
        for command in (containers, volumes)
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ]


def only_job(out):
    (job,) = [
        path for path in out.iterdir() if path.is_dir() and not path.is_symlink() and path.name[0] != "."
    ]
    return job


def test_a_new_dataset_scores_its_solution_pass_and_its_wrong_one_fail(dataset, tmp_path):
    out = tmp_path / "runs"
    right = call("run", dataset, "--submission", "solution", "--out", out)
    assert right.returncode == 0, right.stderr
    wrong = call("run", dataset, "--submission", "wrong:one-off", "--out", out, "--json")
    assert wrong.returncode == 1, wrong.stderr
    document = json.loads(wrong.stdout)
    assert [(one["status"], one["score"]) for one in document["attempts"]] == [("FAIL", 0.8)]
    assert left_on_engine(document["job_id"]) == []


def test_score_tells_the_reason_at_once(dataset, tmp_path):
    task = dataset / "tasks" / "count-words"
    result = call("score", task, task / "solution-wrong" / "one-off", "--out", tmp_path / "runs")
    assert result.returncode == 1, result.stderr
    assert result.stdout.startswith("FAIL  score 0.8  counts: 4 of 5 words right")


def test_progress_in_a_pipe_is_plain_even_when_colour_is_forced(dataset, tmp_path):
    result = call(
        "run", dataset, "--submission", "solution", "--out", tmp_path / "r", FORCE_COLOR="1", CI="1"
    )
    assert "PASS  count-words/solution/1.1 score 1" in result.stderr
    assert not {"\r", "\x1b"} & set(result.stderr + result.stdout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_ends_the_job_with_130_and_nothing_is_left(dataset, tmp_path, number):
    (dataset / "tasks" / "count-words" / "evaluator.py").write_text(SLOW)
    out = tmp_path / "runs"
    process = subprocess.Popen(
        words("-v", "run", dataset, "--submission", "solution", "--out", out),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any("evaluate" in line for line in process.stderr)
    begun = time.monotonic()
    process.send_signal(number)
    said, complaint = process.communicate(timeout=30)
    assert time.monotonic() - begun < 15
    assert process.returncode == 130
    assert "Traceback" not in complaint
    assert "--resume" in said
    assert left_on_engine(only_job(out).name) == []


def test_an_interrupted_job_goes_on_and_ends(dataset, tmp_path):
    evaluator = dataset / "tasks" / "count-words" / "evaluator.py"
    out = tmp_path / "runs"
    text = evaluator.read_text()
    evaluator.write_text("import time, pathlib\ntime.sleep(2)\n" + text)
    process = subprocess.Popen(
        words(
            "run", dataset, "--submission", "solution", "--repeat", "2", "--concurrency", "1", "--out", out
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any(line.startswith("PASS") for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    first = only_job(out) / "attempts" / "count-words" / "solution" / "1.1" / "result.json"
    before = first.read_bytes()
    result = call("run", "--resume", "latest", "--out", out, "--json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [one["status"] for one in document["attempts"]] == ["PASS", "PASS"]
    assert first.read_bytes() == before


def test_an_engine_that_is_not_there_is_two_lines_and_exit_2(dataset, tmp_path):
    result = call("run", dataset, "--submission", "solution", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert result.returncode == 2
    assert "none.sock" in result.stderr
    assert "Traceback" not in result.stderr
    assert not Path("runs").exists() or not (dataset / "runs").exists()


def test_probe_and_doctor_name_the_engine_and_the_image(dataset):
    probe = call("check", dataset, "--probe")
    assert probe.returncode == 0, probe.stdout
    assert "image scorehost/python:3 (for count-words/evaluator)" in probe.stdout
    doctor = call("doctor")
    assert "ok       engine " in doctor.stdout
    assert "scorehost/python:3" in doctor.stdout


def test_probe_finds_a_task_whose_hosts_can_never_fit(dataset):
    task = dataset / "tasks" / "count-words" / "task.yaml"
    task.write_text(task.read_text().replace("memory_mb: 256", "memory_mb: 1000000"))
    probe = call("check", dataset, "--probe")
    assert probe.returncode == 2
    assert "task count-words needs 1000000 MiB" in probe.stdout
    assert call("run", dataset, "--submission", "solution").returncode == 2


def test_a_missing_own_image_names_the_command_that_makes_it(dataset):
    profiles = dataset / "profiles.yaml"
    profiles.write_text(profiles.read_text().replace("scorehost/python:3", "scorehost/python:nosuch"))
    result = call("run", dataset, "--submission", "solution", "--out", dataset / "runs")
    assert result.returncode == 2
    assert "image_missing" in result.stdout
    assert "make images" in result.stdout
    assert "Nothing was scored" in result.stdout
