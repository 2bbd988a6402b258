"""Calls the submitted `encode` in a host without gold, and compares here; score: the share of cases that are right."""

import json
from pathlib import Path

from scorehost_sdk import ScoringError, SubmissionFault, evaluation_check, untrusted
from shared import answers


def evaluate(inputs):
    path = inputs["artifacts"].get("solution")
    if path is None:
        return answers.refused(answers.MalformedError("artifacts/solution.py was not handed in"))
    cases = json.loads(Path(inputs["evaluation_dir"], "cases.json").read_text("utf-8"))
    encode = untrusted(inputs["scoring"], "sandbox", path, "encode", seconds=2, total_seconds=20)

    try:
        checks = [case_check(index, encode, *case) for index, case in enumerate(cases)]
    except SubmissionFault as fault:
        check = evaluation_check("submission-fault", status="FAIL", message=str(fault))
        return {"status": "FAIL", "score": 0.0, "checks": [check]}

    right = sum(check["status"] == "PASS" for check in checks)
    return {
        "status": "PASS" if right == len(cases) else "FAIL",
        "score": right / len(cases),
        "checks": checks,
    }


def case_check(index, encode, text, wanted):
    try:
        found = encode(text)
    except (SubmissionFault, ScoringError):
        raise
    except Exception as error:  # raised by the submitted function; only built-in types come across
        found = error
    # Types are compared too: bytes or a list never equal text, but True would equal 1 elsewhere.
    if answers.same(found, wanted):
        return evaluation_check(f"case.{index}", status="PASS")
    return evaluation_check(
        f"case.{index}", status="FAIL", message=f"encode({text!r}) gave {found!r:.200}, wanted {wanted!r}"
    )
