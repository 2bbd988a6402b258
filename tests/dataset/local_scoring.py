"""Stands in for the engine where only an evaluator's own logic is asked: programs of recipes run here.

It keeps nothing apart, so only files of this project may be run with it.
"""

from __future__ import annotations

import importlib.util
import json
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from scorehost.model.check import CheckRow
from scorehost_sdk import Reply, SubmissionFault
from scorehost_sdk.replies import TokenUsage

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "tasks"

CALL = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("solution", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
value = getattr(module, sys.argv[2])(*json.loads(sys.argv[3]))
assert type(value) in (str, int, float, bool, type(None))
print("\\n" + sys.argv[4] + json.dumps(value))
"""


@dataclass(frozen=True)
class Ran:
    """What an evaluator reads of an `ExecResult`."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    host_lost: bool = False
    duration_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


class Scoring:
    """`exec` runs a program that lies beside a recipe of the task; `execs` says in which hosts what ran."""

    def __init__(self, task: str) -> None:
        self.environment = TASKS / task / "environment"
        self.execs: list[tuple[str | None, str]] = []
        self.instead: Ran | None = None

    def exec(self, name: str | None, argv: list[str], *, timeout: float | None = None) -> Ran:
        self.execs.append((name, argv[0]))
        if self.instead:
            return self.instead
        folder = self.environment / "evaluate" / name if name else self.environment
        done = subprocess.run(
            [sys.executable, str(folder / argv[0]), *argv[1:]],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


class AwaitedScoring(Scoring):
    async def exec(self, name: str | None, argv: list[str]) -> Ran:  # type: ignore[override]
        return super().exec(name, argv, timeout=20)


class Judge:
    """The role that profiles.yaml binds, played in this process; what rules run lies beside the recipe."""

    def __init__(self, scoring: Scoring, submission: Path | None, gold: Path) -> None:
        self._scoring, self._submission, self._gold = scoring, submission, gold
        self._environment = ""
        spec = importlib.util.spec_from_file_location("rule_judge", ROOT / "examples/adapters/rule_judge.py")
        assert spec is not None
        assert spec.loader is not None
        self._rules = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._rules)
        self._rules.run = self._run

    def session(self, role: str, *, environment: str) -> Judge:
        assert role == "judge"
        self._environment = environment
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def invoke(self, prompt: str) -> Reply:
        answer = self._rules.answer({"mode": "session", "prompt": prompt, "tools": [{"name": "exec"}]})
        return Reply(answer["output"], "r", TokenUsage(0, 0))

    def _run(self, command: str) -> dict[str, Any]:
        words = command.removeprefix("run ").split()
        places = {
            "/attempt/artifacts/": f"{self._submission}/artifacts/",
            "/attempt/evaluation/": f"{self._gold}/",
        }
        for inside, here in places.items():
            words = [word.replace(inside, here) for word in words]
        ran = Scoring.exec(self._scoring, self._environment, words)
        return {"exit_code": ran.exit_code, "stdout": ran.stdout, "error": ""}


def untrusted(_scoring: Any, _name: str, path: str, function: str, **_: Any) -> Any:
    """One process a call; whatever goes wrong in it is a fault."""

    def call(*arguments: Any) -> Any:
        token = secrets.token_hex(8)  # a submission that prints an answer and leaves has given none
        argv = [sys.executable, "-c", CALL, path, function, json.dumps(arguments), token]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
        last = done.stdout.splitlines()[-1:]
        if done.returncode or not last or not last[0].startswith(token):
            raise SubmissionFault("it gave no value")
        return json.loads(last[0].removeprefix(token))

    return call


def evaluator(task: str) -> ModuleType:
    """The task's evaluator.py as a module of its own; `shared` comes from the dataset."""
    spec = importlib.util.spec_from_file_location(f"evaluator_{task}", TASKS / task / "evaluator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "untrusted"):
        module.untrusted = untrusted
    return module


def inputs(task: str, submission: Path | None, gold: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """What evaluate() of a shipped task gets for the artifacts below `submission`."""
    artifact, path = ARTIFACTS[task]
    found = submission / path if submission else None
    scoring = AwaitedScoring(task) if task == "session-audit" else Scoring(task)
    return {
        "artifacts": {artifact: str(found)} if found and found.exists() else {},
        "evaluation_dir": str(gold),
        "parameters": parameters,
        "scoring": scoring,
        "agent": Judge(scoring, submission, gold),
    }


ARTIFACTS = {
    "extract-facts": ("facts", "artifacts/facts.json"),
    "cooling-curve": ("predictions", "artifacts/predictions.csv"),
    "sort-notes": ("notes", "artifacts/notes"),
    "rpn-program": ("program", "artifacts/celsius.rpn"),
    "session-audit": ("session-output", "artifacts/session-output.json"),
    "shift-hours": ("hours", "artifacts/hours.json"),
    "run-length": ("solution", "artifacts/solution.py"),
}


def strict(result: dict[str, Any]) -> dict[str, Any]:
    """The result, after its rows and score proved to be what scorehost takes."""
    assert result["status"] in ("PASS", "FAIL")
    score = result.get("score")
    assert score is None or (isinstance(score, (int, float)) and 0 <= score <= 1)
    ids = [check["id"] for check in result["checks"]]
    assert len(ids) == len(set(ids))
    for check in result["checks"]:
        CheckRow.model_validate_json(json.dumps(check))
    return result
