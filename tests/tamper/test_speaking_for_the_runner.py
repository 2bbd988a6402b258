"""Frames, checks and log lines that a submission writes are text, wherever it writes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scorehost.engine.opening import open_engine
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = pytest.mark.docker

# Writes results in every form that a controller could take for one, to every descriptor that it can find.
SPEAK = r"""
import json, os, struct
value = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
body = json.dumps({"kind": "result", "value": value, "usage": {}, "trees": {}}).encode()
said = {"exit_code": 0, "stdout": "", "stderr": ""}
reply = json.dumps({"kind": "reply", "id": 1, "ok": True, "value": said}).encode()
texts = [body + b"\n", struct.pack(">I", len(body)) + body,
         struct.pack(">I", 64 + len(body)) + b"0" * 64 + body,
         struct.pack(">I", 64 + len(reply)) + b"0" * 64 + reply,
         b"\1\0\0\0" + struct.pack(">I", len(body)) + body,
         b'PASS  t/s/1.1 score 1\n::set-output name=status::PASS\n##[result]PASS\n']
found = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    for number in range(64):
        try: descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
        except OSError: continue
        found += 1
        for text in texts:
            try: os.write(descriptor, text)
            except OSError: pass
for number in range(64):
    for text in texts:
        try: os.write(number, text)
        except OSError: pass
"""
EVALUATOR = f"""
SPEAK = {SPEAK!r}
def evaluate(inputs):
    scoring = inputs["scoring"]
    with scoring.open("work", ["python3", "-c", SPEAK + "import time; time.sleep(60)"]) as live:
        live.receive(10)
        spoken = scoring.exec("other", ["python3", "-c", SPEAK])
    later = scoring.exec("other", ["echo", "still there"])
    return {{"status": "FAIL", "score": 0.5, "metrics": {{
        "said": spoken.stdout.count('"status": "PASS"'), "exit": spoken.exit_code, "later": later.stdout}}}}
"""


@pytest.mark.anyio
async def test_frames_written_to_every_descriptor_of_a_named_host_are_its_output(tmp_path, job_id):
    hosts = {"work": {"docker_image": IMAGE, "gold": False}, "other": {"docker_image": IMAGE}}
    root = write_task(tmp_path / "d", EVALUATOR, evaluation={"environments": hosts})
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert (done.result.status, done.result.score) == ("FAIL", 0.5), (done.result.error, done.log)
    assert done.result.metrics["said"] >= 4
    assert done.result.metrics["later"] == "still there\n"


CLEAR = "\x1b[2J\x1b[H\x1b]0;owned\x07\x1b[32mPASS\x1b[0m"
FORGED_LINE = "PASS  t/s/1.1 score 1"
ROWS = [
    {
        "id": "words",
        "status": "FAIL",
        "title": f"a {CLEAR}",
        "message": f"x\r\n{FORGED_LINE}\n",
        "visibility": "public",
    },
    {"id": f"id {CLEAR}", "status": "FAIL", "visibility": "public"},
    {"id": f"x\n{FORGED_LINE}", "status": "FAIL", "visibility": "public"},
    {"id": "bidi\u202e", "status": "FAIL", "title": "\u202eSSAP", "visibility": "public"},
    {"id": "c1", "status": "FAIL", "message": "\x9b31m \x85 \u2028 \ud7ff", "visibility": "public"},
]
SHOUTING = f"""
from pathlib import Path
def evaluate(inputs):
    print({CLEAR!r}); print({FORGED_LINE!r})
    said = Path(inputs["artifacts"]["answer"]).read_text()
    return {{"status": "FAIL", "score": 0.0, "metrics": {{said: said}}, "checks": {ROWS!r}}}
"""


def scorehost(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, words)]
    env = {**os.environ, "FORCE_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)


def controls(text: str) -> list[str]:
    return [
        c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u202e")
    ]


@pytest.mark.parametrize("private", [(), ("--private",)], ids=["", "private"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_what_a_submission_says_comes_out_escaped(tmp_path, form, private):
    root = write_task(tmp_path / "d", SHOUTING)
    submission = write_submission(tmp_path / "s", {"artifacts/answer.txt": CLEAR + "\n" + FORGED_LINE})
    told = scorehost("run", root, "--submission", submission, "--out", tmp_path / "runs", *form, *private)
    assert told.returncode == 1, told.stderr
    everything_escaped(told)
    if form:
        (attempt,) = json.loads(told.stdout)["attempts"]
        assert (attempt["status"], attempt["score"]) == ("FAIL", 0.0)


def test_names_of_files_come_out_escaped(tmp_path):
    root = write_task(
        tmp_path / "d",
        SHOUTING,
        artifacts={"publishable": [{"id": "answer", "path": "artifacts/tree", "kind": "tree"}]},
    )
    tree = tmp_path / "s/artifacts/tree"
    tree.mkdir(parents=True)
    Path(tree, f"{CLEAR.replace('/', '')}\nPASS  t score 1").symlink_to("/etc/passwd")
    for form in ((), ("--json",)):
        told = scorehost("run", root, "--submission", tmp_path / "s", "--out", tmp_path / "runs", *form)
        assert told.returncode == 3, told.stderr
        everything_escaped(told)


def everything_escaped(told: subprocess.CompletedProcess[str]) -> None:
    """No control character reached either stream, and no line of theirs is one of ours."""
    text = told.stdout + told.stderr
    assert controls(text) == []
    assert [line for line in text.splitlines() if line.startswith("PASS")] == []
