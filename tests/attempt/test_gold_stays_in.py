"""Gold that an evaluator lets out by accident stays in its private log."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
import time

import pytest
from attempts import met

from trial import IMAGE, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

GOLD = "sentinel-of-the-gold"
RAISES = """
class Trouble(Exception):
    pass
def evaluate(inputs):
    with open("/attempt/evaluation/gold.txt") as stream:
        gold = stream.read()
    inputs["scoring"].exec("work", ["cat"], stdin=gold.encode())
    inputs["scoring"].exec("work", ["sleep", "3"])  # it is looked at meanwhile
    raise Trouble(f"expected {gold}")
"""


HOSTS = 2  # the evaluator's, and `work`


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout


async def test_gold_in_an_exceptions_text_is_in_the_private_log_only(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        RAISES,
        gold={"gold.txt": GOLD.encode()},
        evaluation={"environments": {"work": {"docker_image": IMAGE}}},
    )
    write_submission(tmp_path / "s")
    inspected: list[str] = []

    def look() -> None:
        ids: list[str] = []
        until = time.monotonic() + 30
        while len(ids) < HOSTS and time.monotonic() < until:
            ids = docker("ps", "-q", "--filter", f"label=scorehost.job={job_id}").split()
        time.sleep(0.5)  # by then the process that was given gold has been made
        inspected.append(docker("inspect", *ids))

    looking = threading.Thread(target=look)

    def meet(phase: str) -> None:
        if phase == "evaluate":
            looking.start()

    begun = int(time.time())
    done = await met(tmp_path, job_id, root, meet)
    looking.join()
    error = done.result.error
    assert error is not None
    assert (done.kind, error.blame) == ("evaluator_exception", "dataset")
    assert error.message == "the evaluator raised an exception: Trouble at evaluator.py:9"
    assert GOLD.encode() in done.log

    until = str(int(time.time()) + 1)
    told = docker(
        "events",
        "--since",
        str(begun),
        "--until",
        until,
        "--filter",
        f"label=scorehost.job={job_id}",
        "--format",
        "{{json .}}",
    )
    actions = {json.loads(line)["Action"].partition(":")[0] for line in told.splitlines()}
    assert {"create", "start", "exec_create", "destroy"} <= actions
    assert GOLD not in told
    assert [len(json.loads(text)) for text in inspected] == [HOSTS]
    assert GOLD not in "".join(inspected)
    assert GOLD not in str(done.told)
    holds_gold = {
        str(path.relative_to(tmp_path / "runs" / job_id / "attempts/t/s/1.1"))
        for path in (tmp_path / "runs").rglob("*")
        if path.is_file() and GOLD.encode() in path.read_bytes()
    }
    assert holds_gold == {"logs/evaluator.log", "logs/work.1.stdout.log"}

    # Nor does anything hold the key that binds gold, or a digest that a guess could be held against.
    key = (root / "gold.key").read_bytes()
    plain = hashlib.sha256(GOLD.encode()).hexdigest()
    tree = hashlib.sha256(f"gold.txt\0-\0{plain}\n".encode()).hexdigest()
    everything = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    everything += "".join((told, *inspected, str(done.told))).encode()
    for secret in (key, key.hex().encode(), plain.encode(), tree.encode()):
        assert secret not in everything


FINDS_NO_KEY = """
import os
def evaluate(inputs):
    names = [name for _, _, files in os.walk("/attempt") for name in files]
    found = inputs["scoring"].exec("work", ["find", "/attempt", "/tmp", "-name", "*.key"])
    seen = {"names": sorted(name for name in names if "key" in name), "found": found.stdout}
    return {"status": "PASS", "metrics": {"seen": seen, "variables": sorted(map(str, os.environ.values()))}}
"""


async def test_no_host_holds_the_key_that_binds_gold(tmp_path, job_id):
    root = write_task(
        tmp_path / "d", FINDS_NO_KEY, evaluation={"environments": {"work": {"docker_image": IMAGE}}}
    )
    write_submission(tmp_path / "s")
    done = await met(tmp_path, job_id, root)
    assert done.result.status == "PASS", done.result
    assert done.result.metrics["seen"] == {"names": [], "found": ""}
    assert (root / "gold.key").read_bytes().hex() not in str(done.result.metrics)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return {'status': gold}", "invalid_result"),
        ("return {'status': 'PASS', 'score': gold}", "invalid_result"),
        ("return {'status': 'PASS', gold: 1}", "invalid_result"),
        ("return {'status': 'PASS', 'metrics': {gold: {1}}}", "invalid_result"),
        ("return gold", "invalid_result"),
        ("raise type(gold, (Exception,), {})", "evaluator_exception"),
        ("inputs['scoring'].exec(gold, ['true'])", "unknown_environment"),
        (
            "return {'status': 'PASS', 'checks': [{'id': 'x', gold: 1}, {'id': gold}, gold]}",
            None,
        ),
    ],
)
async def test_gold_that_stands_where_a_word_should_is_not_quoted(tmp_path, job_id, body, kind):
    gold = "sentinel " + "of the gold " * 5
    evaluator = f"def evaluate(inputs):\n    gold = open('/attempt/evaluation/gold.txt').read()\n    {body}\n"
    root = write_task(tmp_path / "d", evaluator, gold={"gold.txt": gold.encode()})
    write_submission(tmp_path / "s")
    done = await met(tmp_path, job_id, root)
    assert done.kind == kind, (done.result, done.log)
    assert "sentinel" not in (done.folder / "result.json").read_text()
    if kind is None:
        assert len(done.result.warnings) == 3
