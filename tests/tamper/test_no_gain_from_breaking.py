"""Right where it can be and breaking its host elsewhere: no higher mean than simply failing there."""

from __future__ import annotations

import anyio
import pytest

from given import given
from scorehost import api
from trial import IMAGE, write_task

pytestmark = pytest.mark.docker

EASY = ("t1", "t2", "t3")
HARD = ("t4", "t5", "t6")
# One lets a named host's program answer, one uses `untrusted` and catches nothing, one runs it beside itself.
BY_EXEC = """
def evaluate(inputs):
    ran = inputs["scoring"].exec("work", ["python3", "/attempt/artifacts/answer.py"])
    right = ran.ok and ran.stdout.strip() == "42"
    return {"status": "PASS" if right else "FAIL"}
"""
BY_CALL = """
from scorehost_sdk import untrusted
def evaluate(inputs):
    right = untrusted(inputs["scoring"], "work", "artifacts/answer.py", "answer")() == 42
    return {"status": "PASS" if right else "FAIL"}
"""
BESIDE = """
def evaluate(inputs):
    ran = inputs["scoring"].exec(None, ["python3", "/attempt/artifacts/answer.py"])
    right = ran.ok and ran.stdout.strip() == "42"
    with open("/tmp/report", "w") as file:
        file.write("x" * 100_000)
    return {"status": "PASS" if right else "FAIL"}
"""
EVALUATORS = dict(zip((*EASY, *HARD), (BY_EXEC, BY_CALL, BESIDE) * 2, strict=True))

RIGHT = "def answer(): return 42\nif __name__ == '__main__': print(answer())\n"
WRONG = "def answer(): return 41\nif __name__ == '__main__': print(answer())\n"
BREAKS = {
    # Takes the host's memory, as often as it can, and all scratch space.
    "memory": """
import os
def answer():
    for place in ("/tmp", "/dev/shm"):
        try:
            with open(place + "/full", "wb") as file:
                while True: file.write(bytes(1 << 20))
        except OSError: pass
    while True:
        if os.fork() == 0:
            a = []
            while True: a.append(bytearray(1 << 22))
        os.wait()
answer()
""",
    "processes": """
import os
def answer():
    while True:
        try: os.fork()
        except OSError: pass
answer()
""",
    "exit": """
import os
def answer():
    try: os.kill(-1, 9)
    finally: os._exit(0)
if __name__ == '__main__': answer()
""",
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    root = tmp_path_factory.mktemp("gain")
    for task, evaluator in EVALUATORS.items():
        single = evaluator is BESIDE
        environments = {"work": {"docker_image": IMAGE, "gold": False, "tmpfs_mb": 8}}
        write_task(
            root,
            evaluator,
            task_id=task,
            artifacts={"publishable": [{"id": "answer", "path": "artifacts/answer.py"}]},
            limits={"memory_mb": 64, "pids": 32, "exec_seconds": 4, "evaluate_seconds": 30},
            evaluation={"tmpfs_mb": 8} if single else {"environments": environments},
        )
    return root


def test_breaking_gains_nothing_over_failing(dataset, tmp_path):
    kinds = {"fails": WRONG, **BREAKS}
    for name, hard in kinds.items():
        for task in EVALUATORS:
            path = tmp_path / "hand-ins" / name / task / "artifacts/answer.py"
            path.parent.mkdir(parents=True)
            path.write_text(RIGHT if task in EASY else hard)
    options = given(dataset=dataset, out=tmp_path / "runs", submissions_dir=tmp_path / "hand-ins")
    outcome = anyio.run(api.run, *options, lambda _: None)
    rows = {(row.key.submission, row.key.task_id): row for row in outcome.rows}
    assert len(rows) == 6 * len(kinds)
    for name in kinds:
        for task in EASY:
            assert rows[name, task].status == "PASS", (name, task, rows[name, task])
        for task in HARD:
            assert rows[name, task].status != "PASS", (name, task)
    means = outcome.summary["submissions"]
    failing = means["fails"]
    assert failing["mean_score"] == pytest.approx(0.5)
    for name in BREAKS:
        assert means[name]["mean_score"] <= failing["mean_score"], (name, means[name])
        assert means[name]["bounds"]["lower"] <= failing["bounds"]["lower"], (name, means[name])
        # And what happened is told: no ERROR of it is put down to the engine or its environment.
        blamed = {row.error.blame for key, row in rows.items() if key[0] == name and row.error}
        assert blamed <= {"submission", "dataset"}, (name, blamed)
