"""SIGKILL at any moment: nothing that was finished is lost or changed, nothing is scored twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from crashing_job import TASKS, crashing_dataset
from scripted_jobs import Script, run

from scorehost.runs.folder import job_ids
from scorehost.runs.journal import FILE, read_history

ROUNDS = 12
PROGRAM = Path(__file__).with_name("crashing_job.py")


def killed(root, *arguments, after):
    """Runs the program and kills it `after` seconds past its first attempt."""
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(root), *arguments])
    try:
        deadline = time.monotonic() + 30
        while (
            process.poll() is None and time.monotonic() < deadline and not list(root.glob("runs/*/attempts"))
        ):
            time.sleep(0.002)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()


def finished(folder):
    return {path: path.read_bytes() for path in folder.glob("attempts/*/*/1.1/**/*") if path.is_file()}


def test_a_killed_job_resumes_with_every_attempt_once_and_finished_ones_byte_equal(tmp_path):
    chance = random.Random(7)  # noqa: S311 - moments, not secrets
    seen_done = seen_left = 0
    for number in range(ROUNDS):
        root = tmp_path / str(number)
        root.mkdir()
        killed(root, after=chance.random() * 0.35)
        (folder,) = (root / "runs" / job_id for job_id in job_ids(root / "runs"))
        for _ in range(chance.randrange(2)):
            killed(root, folder.name, after=chance.random() * 0.2)
        for path in folder.rglob("*.json"):
            if ".new" not in str(path):  # the scripted stand-in's own unfinished folder
                json.loads(path.read_bytes())
        # A fault that the kill kept from being tried again is tried again now.
        owed = {
            path.parent
            for path in folder.glob("attempts/*/*/1.1/result.json")
            if b'"ERROR"' in path.read_bytes()
        }
        before = {path: data for path, data in finished(folder).items() if not owed & set(path.parents)}
        done = {path.relative_to(folder / "attempts").parts[0] for path in before}
        script = Script()
        outcome = run(root, crashing_dataset(root), script, resume=folder.name)
        assert outcome.status == "complete"
        assert sorted(order.key.task_id for order in script.orders) == sorted(set(TASKS) - done)
        after = finished(folder)
        assert before.items() <= after.items()
        assert len(outcome.rows) == len(TASKS)
        seen_done += len(done)
        seen_left += len(TASKS) - len(done)
        for tried in folder.glob("tries/*/solution/1.1/1/result.json"):
            assert json.loads(tried.read_bytes())["error"]["kind"] == "start_failed"
        history = read_history(folder / FILE)
        assert (history.torn, history.broken, history.last) == (b"", None, outcome.root_hash)
        lines = [json.loads(line) for line in (folder / FILE).read_bytes().splitlines()]
        kinds = [(line["kind"], line.get("key")) for line in lines]
        for task_id in TASKS:
            key = f"{task_id}/solution/1.1"
            retried = kinds.count(("attempt_retried", key))
            tries = list((folder / "tries" / task_id).glob("solution/1.1/*"))
            assert retried == len(tries) <= 1
            ended = kinds.count(("attempt_finished", key)) + kinds.count(("attempt_found", key))
            assert ended == 1 + retried
    assert seen_done, "no round was killed after an attempt had finished"
    assert seen_left, "no round was killed before all were finished"
