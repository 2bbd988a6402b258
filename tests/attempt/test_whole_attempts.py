"""Attempts from submission to folder on the real engine."""

from __future__ import annotations

import gc
import hashlib
import hmac
import json
import os
import time
from pathlib import Path

import pytest
from attempts import attempt, met, scored
from hand_ins import write_raw

from scorehost.engine.opening import open_engine
from scorehost.model.check import CheckRow
from scorehost.model.json import canonical, parse
from scorehost.model.result import read_result
from scorehost.runs.reader import Reader
from scorehost.spec.loading import load_dataset
from trial import IMAGE, bench_for, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

TREE = {"publishable": [{"id": "tree", "path": "artifacts/tree", "kind": "tree", "max_bytes": 10**9}]}
ODD_FILES = {
    b"all bytes": bytes(range(256)) * 999,
    b"crlf": b"a\r\nb\r\n",
    b"empty": b"",
    b"new\nline": b"1",
    "emoji \N{SNAKE}".encode(): b"2",
    b"\xff\xfe not utf-8": b"3",
    b"n" * 255: b"4",
    b"deep/" * 20 + b"x" * 200: b"5",
    b"back\\slash": b"6",
    b"-rf": b"7",
    b"run.sh": b"#!/bin/sh\n",
}
SEEN = """
import hashlib, os
def evaluate(inputs):
    seen = {}
    for top in (b"artifacts/tree", b"evaluation"):
        root = b"/attempt/" + top
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                facts = os.stat(path)
                with open(path, "rb") as stream:
                    digest = hashlib.sha256(stream.read()).hexdigest()
                key = top.decode() + ":" + os.path.relpath(path, root).hex()
                seen[key] = [digest, oct(facts.st_mode), facts.st_uid]
    return {"status": "PASS", "metrics": seen}
"""


async def test_every_byte_and_name_inside_is_what_it_is_outside(tmp_path, job_id):
    root = write_task(tmp_path / "d", SEEN, artifacts=TREE)
    gold = root / "tasks/t/evaluation"
    write_raw(gold, ODD_FILES)
    write_raw(tmp_path / "s/artifacts/tree", ODD_FILES)
    for folder in (gold, tmp_path / "s/artifacts/tree"):
        (folder / "run.sh").chmod(0o700)
        (folder / "crlf").chmod(0o600)
    done = await met(tmp_path, job_id, root)
    assert done.result.status == "PASS", done.result.error
    wanted = {
        f"{top}:{name.hex()}": [
            hashlib.sha256(data).hexdigest(),
            "0o100755" if name == b"run.sh" else "0o100644",
            0,
        ]
        for top, files in (
            ("artifacts/tree", ODD_FILES),
            ("evaluation", {**ODD_FILES, b"gold.txt": b"gold"}),
        )
        for name, data in files.items()
    }
    assert done.result.metrics == wanted
    kept = {
        os.fsencode(path.relative_to(done.folder / "artifacts/tree")): path.read_bytes()
        for path in (done.folder / "artifacts/tree").rglob("*")
        if path.is_file()
    }
    assert kept == ODD_FILES


PLANTED = {
    f"workspace/{name}": "raise SystemExit('planted code ran')\n"
    for name in (
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "json.py",
        "os.py",
        "evaluator.py",
        "runner.py",
        "scorehost_sdk/__init__.py",
        "shared/__init__.py",
    )
} | {
    "workspace/result.json": '{"status": "PASS", "score": 1.0}',
    "workspace/checks.json": '{"checks": [{"id": "planted", "status": "PASS"}]}',
}
WORKSPACE = {"publishable": [{"id": "tree", "path": "workspace", "kind": "tree"}]}
WHERE = """
import json, random, sys
ASK = "import json, random, sys; print(json.__file__, random.__file__, '/attempt/w' in str(sys.modules))"
def evaluate(inputs):
    from scorehost_sdk import evaluation_check
    said = inputs["scoring"].exec(%r, ["python3", "-c", ASK])
    return {"status": "FAIL", "score": 0.25, "metrics": {
        "here": [json.__file__, random.__file__], "there": said.stdout,
        "planted": [name for name, module in sys.modules.items() if "/attempt/workspace" in str(module)],
    }, "checks": [evaluation_check("own", status="FAIL")]}
"""


@pytest.mark.parametrize("name", [None, "work"])
async def test_nothing_of_a_submission_is_imported_or_taken_for_a_result(tmp_path, job_id, name):
    environments = {} if name is None else {"work": {"docker_image": IMAGE}}
    task = {"evaluation": {"environments": environments}, "artifacts": WORKSPACE}
    done = await scored(tmp_path, job_id, WHERE % name, PLANTED, **task)
    assert done.result.status == "FAIL", (done.result.error, done.log)
    assert done.result.score == 0.25
    assert [row["id"] for row in done.checks] == ["own"]
    here, there = done.result.metrics["here"], done.result.metrics["there"].split()
    for places in (here, there):
        assert all("/python3" in str(place) and "/attempt" not in str(place) for place in places[:2])
    assert there[2] == "False"
    assert done.result.metrics["planted"] == []
    assert b"planted" not in done.log


async def test_an_evaluator_runs_without_an_artifact_that_is_missing(tmp_path, job_id):
    evaluator = """
    def evaluate(inputs):
        return {"status": "FAIL", "metrics": {"artifacts": inputs["artifacts"], "rows": inputs["inputs"]}}
    """
    done = await scored(tmp_path, job_id, evaluator, {})
    assert done.result.status == "FAIL"
    assert done.result.score == 0.0
    row = {"artifact": "answer", "target": "artifacts/answer.txt"}
    assert done.result.metrics == {"artifacts": {}, "rows": [row]}


READ_ANSWER = """
def evaluate(inputs):
    with open(inputs["artifacts"]["answer"]) as stream:
        return {"status": "PASS", "metrics": {"answer": stream.read()}}
"""


async def test_what_was_hashed_is_scored_though_the_submission_changes(tmp_path, job_id):
    root = write_task(tmp_path / "d", READ_ANSWER)
    answer = write_submission(tmp_path / "s", {"artifacts/answer.txt": "before"}) / "artifacts/answer.txt"

    def meet(phase: str) -> None:
        if phase == "start":
            answer.write_text("after")

    done = await met(tmp_path, job_id, root, meet)
    assert done.result.metrics == {"answer": "before"}
    assert (done.folder / "artifacts/answer.txt").read_text() == "before"
    sha = hashlib.sha256(b"before").hexdigest()
    tree = hashlib.sha256(b"\0-\0" + sha.encode() + b"\n").hexdigest()
    wanted = hashlib.sha256(f"answer\0sha256:{tree}\n".encode()).hexdigest()
    assert done.result.digests.submission == f"sha256:{wanted}"


@pytest.mark.parametrize("change", ["rewritten", "deleted"])
@pytest.mark.parametrize(
    ("file", "shown"), [("evaluation/gold.txt", "evaluation/gold.txt"), ("evaluator.py", "task/evaluator.py")]
)
async def test_gold_or_evaluator_that_changes_between_two_attempts_is_a_changed_input(
    tmp_path, job_id, file, shown, change
):
    root = write_task(tmp_path / "d", READ_ANSWER)
    submission = write_submission(tmp_path / "s")
    folder = tmp_path / "runs" / job_id
    async with (
        open_engine() as engine,
        bench_for(engine, load_dataset(root), job_id, tmp_path / "runs") as bench,
    ):
        first = await attempt(bench, folder, submission)
        changed = root / "tasks/t" / file
        if change == "rewritten":
            changed.write_text(changed.read_text() + "\n")
        else:
            changed.unlink()
        second = await attempt(bench, folder, submission, repeat=2)
    assert first.result.status == "PASS"
    assert second.kind == "changed_input"
    assert second.result.error is not None
    assert second.result.error.message == f"{shown} changed on disk while the job ran"
    assert second.result.digests == first.result.digests.model_copy(
        update={"scoring": second.result.digests.scoring}
    )


PIPELINE = """
from scorehost_sdk import evaluation_check
def evaluate(inputs):
    scoring = inputs["scoring"]
    audit = scoring.exec("audit", ["sh", "-c", "echo audited; echo trouble >&2; exit 3"])
    status = "PASS" if audit.ok else "FAIL"
    rows = [evaluation_check("audit", status=status, environment="audit", exec_result=audit)]
    if audit.ok:
        rows.append(evaluation_check("verification", exec_result=scoring.exec("verification", ["true"])))
    rows.append({"id": "bad\\x1brow", "status": "PASS"})
    print("said by the evaluator")
    return {"status": "PASS" if audit.ok else "FAIL", "metrics": {"exit": audit.exit_code}, "checks": rows}
"""


@pytest.fixture
async def pipeline(tmp_path, job_id):
    environments = {
        "audit": {"docker_image": IMAGE},
        "verification": {"docker_image": "scorehost/there-is-no-such-image:1"},
    }
    return await scored(tmp_path, job_id, PIPELINE, evaluation={"environments": environments})


async def test_a_stage_that_was_not_reached_started_nothing_and_needs_no_image(pipeline, job_id):
    assert pipeline.result.status == "FAIL", (pipeline.result.error, pipeline.log)
    hosts = {host.name: host for host in pipeline.result.hosts}
    assert set(hosts) == {"evaluator", "audit"}
    assert (hosts["audit"].execs, hosts["evaluator"].execs) == (1, 0)
    assert hosts["audit"].image == IMAGE
    assert hosts["audit"].image_id.startswith("sha256:")
    assert {host.ended for host in hosts.values()} == {"removed"}
    assert set(pipeline.result.digests.scoring.images) == {"evaluator", "audit"}


async def test_the_files_of_an_attempt_are_what_their_formats_say(pipeline, job_id):
    folder, result = pipeline.folder, pipeline.result
    assert read_result((folder / "result.json").read_bytes()) == result
    assert (result.job_id, result.task_id, result.submission) == (job_id, "t", "s")
    assert (result.sample, result.repeat, result.try_number) == (1, 1, 1)
    checks = parse((folder / "evaluation/checks.json").read_bytes(), max_bytes=10**6)
    assert checks["format"] == "scorehost.checks/1"
    (row,) = [CheckRow.model_validate_json(canonical(each), strict=True) for each in checks["checks"]]
    assert (row.id, row.status, row.environment) == ("audit", "FAIL", "audit")
    assert row.exec is not None
    assert (row.exec.exit_code, row.exec.stdout, row.exec.stderr) == (3, "audited\n", "trouble\n")
    assert result.warnings == ("checks: row 2 was left out: its id holds control characters",)
    assert set(result.timing) == {"prepare", "start", "upload", "evaluate", "collect", "cleanup"}
    assert all(seconds >= 0 for seconds in result.timing.values())
    logs = {path.name: path.read_bytes() for path in (folder / "logs").iterdir()}
    assert logs == {
        "evaluator.log": b"said by the evaluator\n",
        "audit.1.stdout.log": b"audited\n",
        "audit.1.stderr.log": b"trouble\n",
    }
    with Reader(folder) as reader:
        manifest, _ = reader.manifest()
        salts = reader.salts()
    found = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).digest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }
    assert {file.path: file.digest for file in manifest.files} == {
        path: f"sha256:{digest.hex()}"
        if path == "result.json"
        else "salted-sha256:" + hashlib.sha256(bytes.fromhex(salts[path]) + digest).hexdigest()
        for path, digest in found.items()
    }
    phases = [fields["phase"] for kind, fields in pipeline.told if kind == "phase"]
    assert phases == ["prepare", "start", "evaluate", "cleanup", "collect"]


async def test_a_refused_submission_starts_nothing_and_has_a_whole_folder(tmp_path, job_id):
    root = write_task(tmp_path / "d", READ_ANSWER)
    (tmp_path / "s/artifacts").mkdir(parents=True)
    (tmp_path / "s/artifacts/answer.txt").symlink_to("/etc/passwd")
    done = await met(tmp_path, job_id, root)
    assert done.kind == "invalid_submission"
    assert done.result.score is None
    assert done.result.hosts == ()
    assert set(done.result.timing) == {"prepare"}
    assert done.result.digests.submission is None
    assert done.result.digests.scoring is not None
    assert sorted(path.name for path in done.folder.iterdir()) == [
        "evaluation",
        "manifest.json",
        "result.json",
    ]


def peak_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def peak_begins_anew() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


COUNT = """
import os
def evaluate(inputs):
    files = sum(len(names) for _, _, names in os.walk(inputs["artifacts"]["tree"]))
    size = os.path.getsize(inputs["artifacts"]["large"])
    return {"status": "PASS", "metrics": {"files": files, "bytes": size}}
"""


async def test_5000_files_and_200_mb_are_scored_in_flat_memory(tmp_path, job_id):
    large = {"id": "large", "path": "artifacts/large", "max_bytes": 10**9}
    tree = {"id": "tree", "path": "artifacts/tree", "kind": "tree"}
    root = write_task(tmp_path / "d", COUNT, artifacts={"publishable": [large, tree]})
    folder = tmp_path / "s/artifacts/tree"
    folder.mkdir(parents=True)
    for number in range(5000):
        (folder / str(number)).write_text(str(number))
    with (tmp_path / "s/artifacts/large").open("wb") as stream:
        stream.truncate(200 * 10**6)
    dataset = load_dataset(root)
    gc.collect()
    if not peak_begins_anew():
        pytest.skip("the peak of memory cannot be measured anew here")
    before = peak_kib()
    begun = time.monotonic()
    done = await met(tmp_path, job_id, dataset)
    print(f"{time.monotonic() - begun:.1f} s, {done.result.timing}")
    grown = peak_kib() - before
    assert done.result.metrics == {"files": 5000, "bytes": 200 * 10**6}, done.result.error
    assert grown < 32 * 1024
    for path in (tmp_path / "runs").rglob("large"):
        path.unlink()
    for path in (tmp_path / "runs/.blobs").rglob("*"):
        if path.is_file() and path.stat().st_size == 200 * 10**6:
            path.unlink()


async def test_seeds_and_numbers_reach_the_evaluator(tmp_path, job_id):
    evaluator = """
    def evaluate(inputs):
        return {"status": "PASS", "metrics": {"task": inputs["task"], "parameters": inputs["parameters"]}}
    """
    done = await scored(tmp_path, job_id, evaluator, parameters={"k": [1, None, "é"]})
    words = '"repeat":1,"sample":1,"submission":"s","task_id":"t"'
    message = f'{{"format":"scorehost.seed/1","phase":"evaluate",{words}}}'.encode()
    drawn = hmac.new((tmp_path / "d/gold.key").read_bytes(), message, "sha256").hexdigest()
    assert done.result.metrics["task"] == {
        "task_id": "t",
        "attempt": 1,
        "submission": "s",
        "sample": 1,
        "repeat": 1,
        "seed": int(drawn[:16], 16) >> 1,
    }
    assert json.dumps(done.result.metrics["parameters"]) == json.dumps({"k": [1, None, "é"]})
