"""Every kind of job survives SIGKILL at any step: nothing is lost or made twice, numbers are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from scorehost.runs.journal import FILE, read_history

ROUNDS, SEED = 50, 20261201
PROGRAM = Path(__file__).with_name("killed_jobs.py")


def test_a_job_that_is_killed_at_fifty_random_steps_ends_as_an_undisturbed_one(tmp_path, entry):
    words = [str(tmp_path), entry.tag, str(ROUNDS), str(SEED)]
    done = subprocess.run([sys.executable, str(PROGRAM), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads((tmp_path / "rounds.json").read_text())
    undisturbed, rounds = told["undisturbed"], told["rounds"]
    keys = {key for key, _, _ in undisturbed["rows"]}
    assert (len(rounds), len(keys)) == (ROUNDS, 12)
    for number, one in enumerate(rounds):
        for part in ("rows", "summary", "exit_status"):
            assert one[part] == undisturbed[part], (number, part)
        # What was published before the last kill stays byte for byte, but for a fault that is tried again.
        moved = {key for key, digest in one["before"].items() if one["after"][key] != digest}
        again = {key for key in keys if entry.retries and "/cicada/" in f"/{key}"}
        assert moved <= again, number
        assert set(one["keys"]) >= keys - set(one["before"]), number
        assert set(one["keys"]) & (set(one["before"]) - moved) == set(), number
        folder = tmp_path / str(number) / "runs" / one["job_id"]
        history = read_history(folder / FILE)
        assert (history.torn, history.broken, history.last) == (b"", None, one["root_hash"]), number
        assert set(history.results) == keys, number
        left = [path.name for path in folder.rglob(".*") if path.name.endswith(".draft")]
        assert left == [], number
    midway = sum(0 < len(one["before"]) < len(keys) for one in rounds)
    assert midway >= ROUNDS // 4, "killed too early or too late"
