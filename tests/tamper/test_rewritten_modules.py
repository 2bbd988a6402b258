"""What a child of the evaluator, which has its user, writes over modules and gold makes no verdict."""

from __future__ import annotations

import pickle

import pytest

from scorehost.engine.opening import open_engine
from scorehost.runs.scored import scored
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# Code in the evaluator's process: it returns a PASS, and does to the digests what it can reach of them.
FORGED = """
import scorehost_sdk.trees
scorehost_sdk.trees.Tree.digest = lambda tree: tree._digest
def status():
    return "PASS"
"""
CHILD = """
import os, sys
for number in range(9):
    os.rmdir("/attempt/.full/%%d" %% number)  # so that there is room for new files
path = sys.argv[1]
os.makedirs(os.path.dirname(path), exist_ok=True)
if os.path.exists(path):
    os.chmod(path, 0o644)
open(path, "w").write(%r)
"""
EVALUATOR = """
import sys
import subprocess
CHILD = %r
def evaluate(inputs):
    subprocess.run([sys.executable, "-c", CHILD, inputs["parameters"]["path"]])
    from lib.late import status
    return {"status": status()}
"""
PLACES = {
    "a module rewritten": "/attempt/task/lib/late.py",
    "a package over it": "/attempt/task/lib/late/__init__.py",
    "a package in front": "/attempt/.scorehost/lib/__init__.py",
    "a module of the SDK": "/attempt/.scorehost/scorehost_sdk/context.py",
}


@pytest.mark.parametrize("path", PLACES.values(), ids=PLACES)
async def test_a_module_that_a_child_of_the_evaluator_wrote_makes_no_verdict(tmp_path, job_id, path):
    root = write_task(tmp_path / "d", EVALUATOR % (CHILD % FORGED), parameters={"path": path})
    late = root / "tasks/t/lib/late.py"
    late.parent.mkdir()
    late.write_text("import scorehost_sdk.context\ndef status():\n    return 'FAIL'\n")
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert made.result.status == "ERROR", made.log
    assert "changed during the evaluation" in made.result.error.message
    # In front of the task's own lib there is no lib.late: that evaluator fails before it can return anything.
    in_front = "/.scorehost/lib/" in path
    assert made.kind == ("evaluator_exception" if in_front else "changed_input")


# The child writes over gold that the evaluator unpickles or runs afterwards, in whatever way it was started.
ANSWERS = """
import os
evil = b"cbuiltins\\neval\\n(V{'answer': 'forged'}\\ntR."
print("forged")
for path, data in (("/attempt/evaluation/gold.pkl", evil),
                   ("/attempt/evaluation/check.py", b"def check(x): return True\\n")):
    os.chmod(path, 0o644)
    open(path, "wb").write(data)
"""
READS = """
{start}
import pickle
from pathlib import Path
def evaluate(inputs):
    out = Path(inputs["output_dir"], "out.txt")
    system(f"python3 {{inputs['artifacts']['answer']}} > {{out}}")
    {look}
"""
STARTS = {
    "from os": "from os import system",
    "as o": "import os as o\nsystem = lambda c: o.system(c)",
    "hidden": "import os\nsystem = getattr(os, 'sys' + 'tem')",
    "ctypes": "import ctypes\nsystem = lambda c: ctypes.CDLL(None).system(c.encode())",
    "subprocess": "import subprocess\nsystem = lambda c: subprocess.run(c, shell=True)",
}
UNPICKLED = """gold = pickle.loads(Path(inputs["evaluation_dir"], "gold.pkl").read_bytes())
    return {"status": "PASS" if out.read_text().strip() == gold["answer"] else "FAIL"}"""
EXECUTED = """space = {}
    exec(Path(inputs["evaluation_dir"], "check.py").read_text(), space)
    return {"status": "PASS" if space["check"](out.read_text().strip()) else "FAIL"}"""
GOLD = {
    "gold.pkl": pickle.dumps({"answer": "the real answer"}),
    "check.py": b"def check(x): return x == 'the real answer'\n",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("look", [UNPICKLED, EXECUTED], ids=["unpickled", "executed"])
async def test_gold_that_a_program_of_the_evaluators_wrote_makes_no_verdict(tmp_path, job_id, start, look):
    root = write_task(tmp_path / "d", READS.format(start=start, look=look), gold=GOLD)
    submission = write_submission(tmp_path / "s", {"artifacts/answer.txt": ANSWERS})
    async with open_engine() as engine:
        made = await score_one(engine, root, submission, job_id, tmp_path / "runs")
    assert (made.result.status, made.kind) == ("ERROR", "changed_input"), made.log
    assert scored(made.result, ()).counts_as_lowest
