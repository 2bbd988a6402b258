"""A runs folder on a file system of 5 MB: the job stops and says how much is missing; later it goes on."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from chaos_kit import IMAGE, LONG, Findings, finished, jobs_in, left_on_engine, read, scorehost, write_dataset

pytestmark = pytest.mark.docker

# 400,000 bytes each that no file system can make smaller: ten of them and their verdicts do not fit.
FILLS = f"""
# {IMAGE}
def evaluate(inputs):
    script = "import os, sys; sys.stdout.buffer.write(os.urandom(400_000))"
    done = inputs["scoring"].exec("work", ["python3", "-c", script])
    return {{"status": "PASS" if len(done.stdout_bytes) == 400_000 else "FAIL"}}
"""
KEYS = [f"t{number}/empty/1.1" for number in range(16)]


@LONG
def test_a_runs_folder_that_fills_up_stops_the_job_which_goes_on_once_there_is_room(tmp_path, small_disk):
    dataset = write_dataset(tmp_path / "d", {f"t{number}": FILLS for number in range(16)})
    out = small_disk / "runs"
    # Nothing is handed in, so nothing asks for the room that a submission has to leave: logs fill the disk.
    first = scorehost("run", dataset, "--submission", "empty", "--concurrency", 3, "--out", out, "--json")
    assert first.returncode == 2, first.stdout + first.stderr
    (folder,) = jobs_in(out)
    assert "Traceback" not in first.stderr
    document = json.loads(first.stdout)
    said = document["message"]
    assert re.search(r"at least \d+ are missing", said), said
    assert "--resume" in said
    assert document["status"] == "incomplete"
    found = Findings()
    found.look_at_files(folder)
    assert (found.broken_files, found.broken_journals) == (0, 0), found
    assert {row["status"] for row in document["attempts"]} <= {"PASS"}
    assert 5 <= len(document["attempts"]) < len(KEYS)
    assert read(folder / "summary.json")["done"] == len(document["attempts"])
    assert left_on_engine(folder.name) == []
    assert not [path for path in folder.rglob("*") if path.name.endswith((".draft", ".partial"))]
    again = scorehost("run", "--resume", "latest", "--out", out, "--json")
    assert again.returncode == 2, "there is no more room than before"
    before = finished(folder)
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    second = scorehost("run", "--resume", "latest", "--out", out, "--json")
    assert second.returncode == 0, second.stdout + second.stderr
    assert {row["status"] for row in json.loads(second.stdout)["attempts"]} == {"PASS"}
    found = Findings()
    found.look_at_the_end(folder, KEYS, before)
    assert found.clean, found
    assert left_on_engine(folder.name) == []


def test_a_submission_that_leaves_too_little_room_for_its_verdict_stops_the_job_at_once(tmp_path, small_disk):
    dataset = write_dataset(tmp_path / "d", {"t0": FILLS})
    ended = scorehost("run", dataset, "--submission", "solution", "--out", small_disk / "runs")
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert re.search(r"at least \d+ are missing", ended.stdout + ended.stderr)
    (folder,) = jobs_in(small_disk / "runs")
    assert finished(folder) == {}
    assert left_on_engine(folder.name) == []


def test_a_job_that_finds_no_room_at_all_does_not_begin(tmp_path, small_disk):
    dataset = write_dataset(tmp_path / "d", {"t0": FILLS})
    with (small_disk / "filler").open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space"):
        while True:
            stream.write(bytes(4096))
    out = small_disk / "runs"
    refused = scorehost("run", dataset, "--submission", "solution", "--out", out)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert re.search(r"at least \d+ are missing", refused.stderr), refused.stderr
    assert "Traceback" not in refused.stderr
    assert not out.exists() or not list(out.iterdir())
