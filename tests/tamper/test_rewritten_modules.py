"""What a child of the evaluator, which has its user, writes over modules is not imported by the evaluator."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# What the child writes would speak for the runner: no change is seen, and there is a PASS.
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
programs = __import__("sub" + "process")  # unseen, since an evaluator that starts programs is not fed
CHILD = %r
def evaluate(inputs):
    programs.run([sys.executable, "-c", CHILD, inputs["parameters"]["path"]])
    from lib.late import status
    return {"status": status()}
"""
PLACES = {
    "a module rewritten": "/attempt/task/lib/late.py",
    "a package over it": "/attempt/task/lib/late/__init__.py",
    "a package in front": "/attempt/.scorehost/lib/__init__.py",
    "a module of the SDK": "/attempt/.scorehost/scorehost_sdk/local_process.py",
}


@pytest.mark.parametrize("path", PLACES.values(), ids=PLACES)
async def test_a_module_that_a_child_of_the_evaluator_wrote_is_not_imported(tmp_path, job_id, path):
    root = write_task(tmp_path / "d", EVALUATOR % (CHILD % FORGED), parameters={"path": path})
    late = root / "tasks/t/lib/late.py"
    late.parent.mkdir()
    late.write_text("import scorehost_sdk.local_process\ndef status():\n    return 'FAIL'\n")
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert (made.result.status, made.kind) == ("ERROR", "evaluator_exception"), made.log
    assert "changed during the evaluation" in made.result.error.message
    assert b"changed since the evaluation began" in made.log
