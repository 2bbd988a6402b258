"""What the SDK promises evaluators, in real hosts: one attempt looks at all of it and raises at its end."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

FILES = {
    "workspace/main.py": "import message\nprint(message.TEXT)\n",
    "workspace/message.py": "TEXT = 'from beside'\n",
    "workspace/slow.py": """
import time
with open("/attempt/output/report.txt", "w") as file: file.write("half of it")
time.sleep(60)
""",
    "workspace/stack.py": """
import threading, time
class Empty(Exception): pass
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item); return len(self.items)
    def pop(self):
        if not self.items: raise Empty("nothing left")
        return self.items.pop()
def spin():
    while True: pass
def threads():
    for _ in range(100): threading.Thread(target=time.sleep, args=(5,)).start()
def waits(): time.sleep(1.5); return 7
""",
}
LOOKS = """
import os
from scorehost_sdk import SubmissionError, SubmissionFault, check, untrusted
def evaluate(inputs):
    s = inputs["scoring"]
    def told(id, found):
        check(id, status="PASS", details=found)
    program = ["python3", "workspace/main.py"]
    told("beside", [s.exec("work", program).stdout, s.exec("audit", program).stderr.splitlines()[-1]])
    found = s.exec("work", ["find", "/attempt/workspace", "-type", "d", "-empty"]).stdout.split()
    told("empty", sorted(found))
    cut = s.exec("work", ["timeout", "-k", "1", "1", "python3", "/attempt/workspace/slow.py"])
    told("cut", [cut.exit_code, cut.timed_out, s.read_file("work", "/attempt/output/report.txt").decode()])
    path = "workspace/stack.py"
    with untrusted(s, "work", path, "Stack", instances=True) as make:
        stack = make()
        pushed = [stack.push(1), stack.push(2), stack.pop(), stack.items]
        try: make().pop()
        except SubmissionError as error: pushed.append(error.type_name)
    told("class", pushed)
    told("waits", untrusted(s, "work", path, "waits", seconds=0.5)())
    for name, seconds in (("spin", 0.5), ("threads", 5)):
        try: untrusted(s, "work", path, name, seconds=seconds)()
        except (RuntimeError, SubmissionFault) as error: told(name, str(error))
    held = []
    while True:
        held.append(os.open("/attempt/evaluation/gold.txt", os.O_RDONLY))
"""


async def test_an_evaluator_gets_what_the_sdk_promises_and_its_checks_are_kept(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        LOOKS,
        artifacts={"publishable": [{"id": "code", "path": "workspace", "kind": "tree"}]},
        limits={"pids": 40, "memory_mb": 256},
        evaluation={
            "environments": {
                "work": {"docker_image": IMAGE, "gold": False, "workspace": "copy"},
                "audit": {"docker_image": IMAGE},
            }
        },
    )
    submission = write_submission(tmp_path / "s", FILES)
    (submission / "workspace/kept/empty").mkdir(parents=True)
    async with open_engine() as engine:
        done = await score_one(engine, root, submission, job_id, tmp_path / "runs")
    checks = {row["id"]: row["details"] for row in done.checks}
    assert checks["beside"] == ["from beside\n", "ModuleNotFoundError: No module named 'message'"]
    assert checks["empty"] == ["/attempt/workspace/kept/empty"]
    assert checks["cut"] == [124, False, "half of it"]
    assert checks["class"] == [1, 2, 2, [1], "Empty"]
    assert checks["waits"] == 7  # it waits longer than it may compute
    assert checks["spin"] == "spin did not answer within 0.5 s of CPU time"
    assert checks["threads"].startswith("can't start new thread [this host: its limit of processes")
    assert done.result.error is not None
    assert done.kind == "evaluator_exception"
    assert "limit of open files (1024) is reached" in done.result.error.message
