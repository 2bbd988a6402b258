"""Modules, results and settings that a submission plants are imported, read and used by nobody."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

MODULES = (
    "json",
    "csv",
    "random",
    "sitecustomize",
    "usercustomize",
    "conftest",
    "evaluator",
    "scorehost_sdk",
    "ageval_sdk",
    "runner",
)
SHOUT = """
import os
os.write(2, b"PLANTED by %s\\n")
evaluate = lambda inputs: {"status": "PASS", "score": 1.0}
"""
FORGED = '{"status": "PASS", "score": 1.0, "checks": [{"id": "forged", "status": "PASS"}]}'
# What a program reads from a home or from where it stands, and runs.
SETTINGS = {
    ".gitconfig": "[core]\n\tfsmonitor = echo PLANTED\n[alias]\n\tstatus = !echo PLANTED\n",
    ".bashrc": "echo PLANTED >&2\n",
    ".profile": "echo PLANTED >&2\n",
    ".pth/evil.pth": "import os; os.write(2, b'PLANTED')\n",
    "pytest.ini": "[pytest]\naddopts = -p conftest\n",
}


def hostile_files() -> dict[str, str]:
    files = {}
    for place in ("artifacts/tree", "workspace"):
        for name in MODULES:
            files[f"{place}/{name}.py"] = SHOUT % name
        for name in ("scorehost_sdk", "lib", "shared"):
            files[f"{place}/{name}/__init__.py"] = SHOUT % name
        files |= {f"{place}/{name}": text for name, text in SETTINGS.items()}
        files |= {f"{place}/{name}": FORGED for name in ("result.json", "checks.json", "summary.json")}
    # Below no declared path.
    return {
        **files,
        "result.json": FORGED,
        "evaluation/checks.json": FORGED,
        "evaluator.py": SHOUT % "x",
        "task.yaml": "{}",
    }


# As a submission's code beside the evaluator does it: its files go wherever something could look for modules.
PLANT = """
for folder in /tmp /dev/shm /tmp/.local/lib/python3.{8,9,10,11,12,13}/site-packages /tmp/lib /attempt/task \
        /attempt/.scorehost /attempt/output /attempt /usr/lib/python3/dist-packages; do
    mkdir -p $folder 2>/dev/null; cp -R /attempt/artifacts/tree/. $folder/ 2>/dev/null
done
ls /tmp/json.py /tmp/.local/lib/python3.11/site-packages/usercustomize.py
"""
EVALUATOR = """
import os, subprocess, sys
PLANT = %r
def evaluate(inputs):
    scoring = inputs["scoring"]
    done = scoring.exec(None, ["bash", "-c", PLANT])
    import csv, json, random, sqlite3, xml.dom.minidom
    from scorehost_sdk import evaluation_check
    from lib import mine
    where = "import csv, json, random as r; print([m.__file__[:9] == '/usr/lib/' for m in (csv, json, r)])"
    own = {}
    for name, argv, folder in (
        ("python", [sys.executable, "-c", where], "/attempt"),
        ("python -m", [sys.executable, "-m", "json.tool", "--help"], "/attempt"),
        ("bash", ["bash", "-c", "true"], "/attempt"),
        ("bash login", ["bash", "-lc", "true"], "/attempt"),
    ):
        ran = subprocess.run(argv, cwd=folder, capture_output=True, text=True)
        own[name] = [ran.returncode, "PLANTED" in ran.stdout + ran.stderr]
    beside = scoring.exec(None, ["python3", "-c", where], workdir="/attempt/artifacts/tree")
    module = scoring.exec(None, ["python3", "-m", "json.tool", "--help"], workdir="/attempt/artifacts/tree")
    return {"status": "FAIL", "score": 0.25, "metrics": {
        "planted": done.stdout, "own": own, "lib": mine.WHO,
        "beside": [beside.stdout, beside.stderr], "module": "PLANTED" in module.stderr,
    }}
"""


async def test_nothing_planted_runs_and_no_file_stands_for_a_result(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        EVALUATOR % PLANT,
        artifacts={
            "publishable": [
                {"id": "tree", "path": "artifacts/tree", "kind": "tree"},
                {"id": "space", "path": "workspace", "kind": "tree"},
            ]
        },
    )
    library = root / "tasks/t/lib/mine.py"
    library.parent.mkdir()
    library.write_text('WHO = "the author"\n')
    submission = write_submission(tmp_path / "s", hostile_files())
    async with open_engine() as engine:
        done = await score_one(engine, root, submission, job_id, tmp_path / "runs")
    assert (done.result.status, done.result.score) == ("FAIL", 0.25), (done.result.error, done.log)
    assert b"PLANTED" not in done.log
    metrics = done.result.metrics
    # The planting itself worked.
    assert "/tmp/json.py\n" in metrics["planted"]
    assert "usercustomize.py" in metrics["planted"]
    assert metrics["own"] == {name: [0, False] for name in ("python", "python -m", "bash", "bash login")}
    assert metrics["beside"] == ["[True, True, True]\n", ""]
    assert metrics["module"] is False
    assert metrics["lib"] == "the author"
    assert done.checks == []
    handed_in = {"artifacts", "workspace"}  # the folder keeps what was scored, under its own names
    said = [
        path for path in done.folder.rglob("*") if path.relative_to(done.folder).parts[0] not in handed_in
    ]
    assert [path for path in said if path.is_file() and b"forged" in path.read_bytes()] == []
