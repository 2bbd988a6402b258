"""Hand-ins of many forms in one job on a real engine: scored where they lie, said in result and journal."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from submissions.packing import tar, zipped

pytestmark = pytest.mark.docker

EVALUATOR = """
def evaluate(inputs):
    place = inputs["artifacts"].get("answer", "")
    text = open(place).read() if place else ""
    return {"status": "PASS" if text == "42" else "FAIL", "metrics": {"place": place, "text": text[:20]}}
"""
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


def call(*args):
    words = [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)


@pytest.fixture
def dataset(tmp_path):
    root = tmp_path / "d"
    task = root / "tasks" / "t"
    (task / "solution").mkdir(parents=True)
    (task / "solution" / "answer.csv").write_text("42")
    (task / "evaluator.py").write_text(EVALUATOR)
    (task / "task.yaml").write_text(
        "format: scorehost.task/1\ntask_id: t\nlimits: {memory_mb: 128}\nartifacts:\n  publishable:\n"
        "    - {id: answer, path: answer.csv}\n"
    )
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: d\nversion: '1'\n")
    (root / "profiles.yaml").write_text(
        "format: scorehost.profiles/1\nenvironment: docker\n"
        "evaluate_host: {docker_image: scorehost/python:3}\n"
    )
    return root


def hand_in(folder, name, path, text="42"):
    place = folder / name / path
    place.parent.mkdir(parents=True)
    place.write_text(text)
    return folder / name


def results(out, job):
    found = {}
    for path in sorted((out / job / "attempts").glob("*/*/*/result.json")):
        result = json.loads(path.read_bytes())
        found[result["submission"]] = result
    return found


def test_hand_ins_as_people_have_them_are_scored_and_what_was_taken_is_said(tmp_path, dataset):
    source, many, out = tmp_path / "src", tmp_path / "in", tmp_path / "runs"
    many.mkdir()
    hand_in(many, "plain", "answer.csv")
    hand_in(many, "below", "artifacts/answer.csv")
    hand_in(many, "Müller Anna", "answer.csv")
    hand_in(many, "pointer", "answer.csv", LFS)
    hand_in(many, "near", "Answer.csv")
    tar(hand_in(source, "packed", "answer.csv"), many, compressor="xz")
    (hand_in(source, "linked", "answer.csv") / "notes").symlink_to("/etc/passwd")
    zipped(source / "linked", many, "info-zip")
    (many / "single.csv").write_text("42")
    (many / "odd.rar").write_text("x")

    first = call("run", dataset, "--submissions", many, "--out", out, "--json")
    assert first.returncode == 1, first.stderr
    job = json.loads(first.stdout)["job_id"]
    found = results(out, job)
    (anna,) = [name for name in found if name.startswith("Muller-Anna-")]
    assert {name: result["status"] for name, result in found.items()} == {
        **dict.fromkeys(("plain", "below", "packed", "linked", "single", anna), "PASS"),
        "pointer": "FAIL",
        "near": "FAIL",
    }
    places = {result["metrics"]["place"] for result in found.values() if result["status"] == "PASS"}
    assert places == {"/attempt/artifacts/answer.csv"}
    assert found["plain"]["warnings"] == []
    assert found["below"]["warnings"] == ["artifacts/answer.csv was taken for answer.csv, which is not there"]
    assert "is a pointer of Git LFS" in found["pointer"]["warnings"][0]
    assert found["near"]["warnings"] == ["answer.csv was not handed in; is Answer.csv meant to be it?"]
    record = json.loads((out / job / "job.json").read_bytes())
    assert {one["label"] for one in record["submissions"]} == {None, "Müller Anna"}
    assert "odd.rar is an archive that is not read" in (out / job / "events.jsonl").read_text()
    assert not (out / job / "incoming").exists()

    again = call("rescore", job, "--out", out, "--json")
    assert again.returncode == 1, again.stderr
    second = results(out, json.loads(again.stdout)["job_id"])
    assert {name: result["metrics"] for name, result in second.items()} == {
        name: result["metrics"] for name, result in found.items()
    }
    assert all(result["warnings"] == [] for name, result in second.items() if name != "pointer")


def test_one_file_is_scored_by_its_name_on_the_command_line(tmp_path, dataset):
    (tmp_path / "mine.csv").write_text("42")
    done = call("score", dataset / "tasks/t", tmp_path / "mine.csv", "--out", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert "mine.csv is taken for answer.csv of t" in done.stderr
