"""SIGKILL of the controller at a random moment: nothing lost, nothing twice, nothing left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time

import pytest
from chaos_kit import (
    BESIDE,
    ROUNDS,
    Findings,
    command,
    finished,
    jobs_in,
    left_on_engine,
    scorehost,
    twenty,
    verdicts,
    write_dataset,
)

pytestmark = pytest.mark.docker

SHORT = 1
SLEEPS = BESIDE.replace("def evaluate(inputs):", "import time\ndef evaluate(inputs):\n    time.sleep(60)")


def killed(chance, *words, lines):
    """Starts scorehost and kills it at a moment after so many of its lines, wherever it then is."""
    process = subprocess.Popen(
        command("-v", *words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        said = (line for line in process.stderr if "/solution/" in line)
        for _ in zip(range(lines + 1), said, strict=False):
            pass
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.timeout(3600)
def test_a_controller_that_is_killed_at_any_moment_loses_nothing_and_leaves_nothing(
    tmp_path, record_property
):
    dataset = twenty(tmp_path / "d")
    seed = int(os.environ.get("SCOREHOST_CHAOS_SEED", "20"))
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    found = Findings()
    done_at_kill, cleaned = [], 0
    repeats = 2 if ROUNDS else 1
    keys = [f"t{task}/solution/1.{repeat}" for task in range(10) for repeat in range(1, repeats + 1)]
    for number in range(ROUNDS or SHORT):
        out = tmp_path / f"runs{number}"
        asked = ("run", dataset, "--submission", "solution", "--repeat", repeats, "--concurrency", 3)
        killed(chance, *asked, "--out", out, lines=chance.randrange(6 * len(keys)))
        (folder,) = jobs_in(out)
        for _ in range(chance.randrange(2) if ROUNDS else 0):
            killed(chance, "run", "--resume", "latest", "--out", out, lines=chance.randrange(20))
        found.look_at_files(folder)
        before = finished(folder)
        done_at_kill.append(len(verdicts(folder)))
        if chance.random() < 0.5:  # else the next run finds it
            assert scorehost("clean", "--job", folder.name).returncode == 0
            cleaned += 1
            left = left_on_engine(folder.name)
            found.left += len(left)
            found.notes += left
        ended = scorehost("run", "--resume", "latest", "--out", out, "--json")
        assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
        document = json.loads(ended.stdout)
        assert {row["status"] for row in document["attempts"]} == {"PASS"}, document["attempts"]
        found.look_at_the_end(folder, keys, before)
        left = left_on_engine(folder.name)
        found.left += len(left)
        found.notes += left
        found.rounds += 1
    record_property("findings", str(found))
    print(found, f"finished at the kill: {done_at_kill}, cleaned by hand: {cleaned}", f"seed {seed}")
    assert found.clean, found
    if ROUNDS:
        assert any(0 < done < len(keys) for done in done_at_kill), "no round was killed in the middle"


def test_a_living_job_keeps_all_it_has_while_others_start_and_clean(tmp_path):
    slow = write_dataset(tmp_path / "slow", {"t0": SLEEPS})
    (slow / "tasks/t0/evaluation").mkdir(exist_ok=True)
    (slow / "tasks/t0/evaluation/large").write_bytes(b"x" * (2 << 20))  # is uploaded, into a volume
    quick = write_dataset(tmp_path / "quick", {"t0": BESIDE})
    process = subprocess.Popen(
        command("-v", "run", slow, "--submission", "solution", "--out", tmp_path / "slow-runs"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert any("evaluate" in line for line in process.stderr)
        (folder,) = jobs_in(tmp_path / "slow-runs")
        mine = left_on_engine(folder.name)
        assert len(mine) == 2, "a container and its volume"
        said = scorehost("clean", "--job", folder.name)
        assert said.returncode == 0
        assert "left container" in said.stdout
        assert f"its job runs in process {process.pid}" in said.stdout
        assert scorehost("clean").returncode == 0
        other = scorehost("run", quick, "--submission", "solution", "--out", tmp_path / "quick-runs")
        assert other.returncode == 0, other.stderr
        assert left_on_engine(jobs_in(tmp_path / "quick-runs")[0].name) == []
        assert left_on_engine(folder.name) == mine
        refused = scorehost("run", "--resume", folder, "--out", tmp_path / "slow-runs")
        assert refused.returncode == 2
        assert "is being run by another process" in refused.stderr
        assert left_on_engine(folder.name) == mine
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun = time.monotonic()
        assert scorehost("clean").returncode == 0
        assert left_on_engine(folder.name) == []
        assert time.monotonic() - begun < 30
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        scorehost("clean", "--job", folder.name)
