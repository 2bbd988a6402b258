"""Tiny tasks, sound ones and ones with a planted defect, for audits on a real engine."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

ARTIFACT = "id: solution, path: artifacts/solution.py, media_type: text/x-python"
SOLUTION = "def double(number):\n    return number * 2\n"
CASES = "[[1, 2], [7, 14], [-3, -6]]\n"
SANDBOX = """
  environments:
    sandbox:
      docker_image: scorehost/python:3
      gold: false
      tmpfs_mb: 16
      limits: {memory_mb: 64, pids: 32}
"""
HEAD = """
import json
from pathlib import Path


def cases(inputs):
    return json.loads(Path(inputs["evaluation_dir"], "cases.json").read_text())


"""
SOUND = (
    HEAD
    + """
from scorehost_sdk import ScoringError, SubmissionFault, untrusted


def right(double, given, wanted):
    try:
        found = double(given)
    except (SubmissionFault, ScoringError):
        raise
    except Exception:
        return False
    return type(found) is int and found == wanted


def evaluate(inputs):
    path = inputs["artifacts"].get("solution")
    if path is None:
        return {"status": "FAIL"}
    double = untrusted(inputs["scoring"], "sandbox", path, "double", seconds=2, total_seconds=10)
    try:
        passed = all([right(double, *case) for case in cases(inputs)])
    except SubmissionFault:
        passed = False
    return {"status": "PASS" if passed else "FAIL"}
"""
)
ALWAYS = "def evaluate(inputs):\n    return {'status': 'PASS'}\n"
BY_THE_CLOCK = SOUND.replace(
    'return {"status": "PASS" if passed else "FAIL"}',
    'return {"status": "PASS" if passed else "FAIL", "score": time.time() % 1}',
).replace("import json", "import json\nimport time", 1)
UNTIL = f"import json\nfrom datetime import datetime\n\nUNTIL = {int(time.time()) + 7 * 86_400}"
BY_THE_DAY = SOUND.replace(
    'return {"status": "PASS" if passed else "FAIL"}',
    'now = datetime.now().timestamp()\n    return {"status": "PASS" if passed and now < UNTIL else "FAIL"}',
).replace("import json", UNTIL, 1)
REJECTS = SOUND.replace("found == wanted", "found == wanted + 1")
IMPORTS = (
    HEAD
    + """
import importlib.util


def evaluate(inputs):
    path = inputs["artifacts"].get("solution")
    if path is None:
        return {"status": "FAIL"}
    spec = importlib.util.spec_from_file_location("submitted", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        passed = all([module.double(given) == wanted for given, wanted in cases(inputs)])
    except Exception:
        passed = False
    return {"status": "PASS" if passed else "FAIL"}
"""
)
TRUSTS = """
TEST = "import sys; sys.path.insert(0, '/attempt/artifacts'); import solution; assert solution.double(4) == 8"


def evaluate(inputs):
    if not inputs["artifacts"]:
        return {"status": "FAIL"}
    result = inputs["scoring"].exec("sandbox", ["python3", "-c", TEST], timeout=5)
    return {"status": "PASS" if result.exit_code == 0 else "FAIL"}
"""
DATASET = {
    "a-sound-one": (SOUND, SANDBOX),
    "always-passes": (ALWAYS, ""),
    "by-the-clock": (BY_THE_CLOCK, SANDBOX),
    "by-the-day": (BY_THE_DAY, SANDBOX),
    "imports-it": (IMPORTS, ""),
    "rejects-its-own": (REJECTS, SANDBOX),
    "trusts-an-exit": (TRUSTS, SANDBOX),
}


def write_dataset(root: Path, tasks: dict[str, tuple[str, str]]) -> Path:
    """A dataset of tasks `id -> (evaluator.py, more lines below evaluation:)`, each with a right solution."""
    root.mkdir(parents=True)
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: tiny\nversion: '1'\n")
    (root / "profiles.yaml").write_text("format: scorehost.profiles/1\nenvironment: docker\n")
    for task_id, (evaluator, more) in tasks.items():
        folder = root / "tasks" / task_id
        for path, text in {
            "task.yaml": (
                f"format: scorehost.task/1\ntask_id: {task_id}\ndescription: Double a number.\n"
                "limits: {memory_mb: 128, evaluate_seconds: 10, exec_seconds: 5}\n"
                f"artifacts:\n  publishable:\n    - {{{ARTIFACT}}}\n"
                "evaluation:\n  output: {format: json, score_range: [0, 1]}\n" + more.lstrip("\n")
            ),
            "evaluator.py": textwrap.dedent(evaluator).lstrip("\n"),
            "README.md": f"# {task_id}\n\nWrite double(number).\n",
            "evaluation/cases.json": CASES,
            "solution/artifacts/solution.py": SOLUTION,
            "solution-wrong/triples/artifacts/solution.py": SOLUTION.replace("2", "3"),
        }.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return root
