"""Scores one HumanEval problem: its test runs here; the function that it calls runs in a host without gold.

The importer copies this file into the datasets that it writes, as `shared/humaneval.py`.
"""

from __future__ import annotations

import copy
import random
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorehost_sdk import ScoringError, SubmissionFault, evaluation_check, untrusted

TEST = "test.py"
CANONICAL = "canonical.py"
Candidate = Callable[..., Any]


class DefectiveTestError(RuntimeError):
    """The problem's test fails its canonical solution, or calls nothing: it can judge no submission."""


class Watched:
    """Passes calls on; keeps how many there were, what the last one raised, and the first fault."""

    def __init__(self, function: Candidate) -> None:
        self.function = function
        self.calls = 0
        self.raised: Exception | None = None
        self.fault: SubmissionFault | None = None

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        try:
            return self.function(*arguments)
        except Exception as error:
            self.raised = error
            if isinstance(error, SubmissionFault):
                self.fault = self.fault or error
            raise


@dataclass(frozen=True)
class Problem:
    """The gold of one problem. `seed` makes tests that draw random inputs repeatable."""

    entry_point: str
    canonical: str
    test: str
    seed: int

    def module(self) -> dict[str, Any]:
        """The names that the test may use: those of the canonical solution, never of the submission."""
        namespace: dict[str, Any] = {"__name__": "humaneval"}
        exec(compile(self.canonical, CANONICAL, "exec"), namespace)  # noqa: S102  # gold, in the evaluator's host
        return namespace

    def check(self, candidate: Candidate) -> None:
        """Runs the test; raises what it raises."""
        namespace = self.module()
        exec(compile(self.test, TEST, "exec"), namespace)  # noqa: S102  # gold, in the evaluator's host
        random.seed(self.seed)
        namespace["check"](candidate)

    def prove(self) -> None:
        """Raises `DefectiveTestError` when the canonical solution, called by value too, does not pass."""
        function = self.module()[self.entry_point]
        try:
            self.check(lambda *arguments: copy.deepcopy(function(*copy.deepcopy(arguments))))
        except Exception as error:
            raise DefectiveTestError("the canonical solution does not pass") from error


def evaluate(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """PASS when the problem's test calls the submitted function and accepts everything that it returns."""
    gold = Path(inputs["evaluation_dir"])
    parameters = inputs["parameters"]
    problem = Problem(
        entry_point=parameters["entry_point"],
        canonical=(gold / CANONICAL).read_text("utf-8"),
        test=(gold / TEST).read_text("utf-8"),
        seed=inputs["task"]["seed"],
    )
    path = inputs["artifacts"].get("solution")
    if path is None:
        return _fail("missing", "artifacts/solution.py was not handed in", visibility="public")
    candidate = Watched(
        untrusted(
            inputs["scoring"],
            "sandbox",
            path,
            problem.entry_point,
            seconds=parameters["call_seconds"],
            total_seconds=parameters["total_seconds"],
        )
    )
    outcome = _judge(problem, candidate)
    if outcome["status"] == "FAIL":
        problem.prove()
    elif not candidate.calls:
        raise DefectiveTestError("the test calls nothing")
    return outcome


def _judge(problem: Problem, candidate: Watched) -> dict[str, Any]:
    try:
        problem.check(candidate)
    except ScoringError:
        raise  # the machinery's, not the submission's
    except Exception as error:  # noqa: BLE001  # whatever the test or the submitted function raises is no pass
        kind = type(error).__name__
        if candidate.fault is None and error is candidate.raised:
            return _fail("raised", f"call {candidate.calls} raised {kind}")
        if candidate.fault is None:
            return _fail("wrong-answer", f"{kind} at {_place(error)}, after call {candidate.calls}")
    if candidate.fault:  # also when the test caught it
        return _fail("submission-fault", f"call {candidate.calls}: {candidate.fault}")
    check = evaluation_check(
        "test", title="The problem's test", status="PASS", details={"calls": candidate.calls}
    )
    return {"status": "PASS", "score": 1.0, "checks": [check]}


def _place(error: Exception) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == TEST]
    return f"{TEST}:{lines[-1]}" if lines else TEST


def _fail(check_id: str, message: str, *, visibility: str = "private") -> dict[str, Any]:
    # Private unless it can say nothing of the test: what submitted code raises may quote the test's inputs.
    check = evaluation_check(
        check_id, title="The problem's test", status="FAIL", message=message, visibility=visibility
    )
    return {"status": "FAIL", "score": 0.0, "checks": [check]}
