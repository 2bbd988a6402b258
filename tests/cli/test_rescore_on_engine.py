"""A job scored again on a real engine: what changed alone, and what `compare` makes of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.docker

NOW = """
def evaluate(inputs):
    return {"status": "FAIL", "score": 0.25}
"""


def call(*args):
    words = [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)


def test_a_changed_evaluator_is_scored_again_and_compare_says_so(tmp_path):
    data, out = tmp_path / "data", tmp_path / "runs"
    assert call("init", data).returncode == 0
    (task,) = (data / "tasks").iterdir()
    recipe = task / "environment/evaluate.Dockerfile"
    recipe.parent.mkdir(exist_ok=True)
    recipe.write_text(f"FROM scorehost/python:3\nLABEL of={tmp_path.name}\n")
    first = call("run", data, "--submission", "solution", "--out", out, "--json")
    assert first.returncode == 0, first.stderr
    before = json.loads(first.stdout)["job_id"]
    (host,) = result_of(out, before)["hosts"]
    try:
        assert host["recipe"]
        assert host["image"] == f"scorehost/built:{host['recipe'][:24]}"

        same = call("rescore", "latest", "--changed", "--out", out, "--json")
        document = json.loads(same.stdout)
        assert (same.returncode, document["carried"], document["moved"]) == (0, 1, [])

        (task / "evaluator.py").write_text(NOW)
        again = call("rescore", before, "--changed", "--out", out, "--json")
        assert again.returncode == 1, again.stderr
        document = json.loads(again.stdout)
        assert (document["parent"], document["carried"]) == (before, 0)
        (move,) = document["moved"]
        assert move["before"] == {"status": "PASS", "score": 1.0}
        assert move["after"] == {"status": "FAIL", "score": 0.25}

        compared = call("compare", before, document["job_id"], "--out", out)
        assert compared.returncode == 2
        assert "evaluator.py, lib/ or shared/ differ" in compared.stdout
    finally:
        subprocess.run(["docker", "rmi", "-f", host["image_id"]], capture_output=True, check=False)


def result_of(out, job_id):
    (path,) = (out / job_id).glob("attempts/*/*/*/result.json")
    return json.loads(path.read_bytes())
