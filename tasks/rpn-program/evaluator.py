"""Runs the submitted program on every case by `rpn`, a program of this task's image; score: the share that is right."""

import json
import math
from pathlib import Path

from scorehost_sdk import evaluation_check
from shared import answers

TOLERANCE_CELSIUS = 1e-6


def evaluate(inputs):
    program = inputs["artifacts"].get("program")
    if program is None:
        return answers.refused(answers.MalformedError("artifacts/celsius.rpn was not handed in"))
    cases = json.loads(Path(inputs["evaluation_dir"], "cases.json").read_text("utf-8"))

    checks = []
    for index, (fahrenheit, celsius) in enumerate(cases):
        result = inputs["scoring"].exec(None, ["rpn", program, str(fahrenheit)], timeout=5)
        checks.append(case_check(f"case.{index}", result, celsius))

    right = sum(check["status"] == "PASS" for check in checks)
    return {
        "status": "PASS" if right == len(cases) else "FAIL",
        "score": right / len(cases),
        "checks": checks,
    }


def case_check(check_id, result, celsius):
    told = result.timed_out or result.oom_killed
    if not told and result.exit_code not in (0, 1):
        raise RuntimeError("rpn did not run")  # the image is at fault, not the submission
    passed = result.ok and close(result.stdout.split(), celsius)
    return evaluation_check(
        check_id,
        status="PASS" if passed else "FAIL",
        exec_result=result,
        message="" if passed else f"wanted {celsius} °C alone on the stack",
    )


def close(printed, celsius):
    return len(printed) == 1 and math.isclose(float(printed[0]), celsius, rel_tol=0, abs_tol=TOLERANCE_CELSIUS)
