"""Each secret case: the program in a fresh host, then the compare script, which decides by 42 and 43."""

from pathlib import Path

from scorehost_sdk import evaluation_check

SECRET = Path(__file__).parent / "evaluation" / "secret"
VERDICTS = {42: True, 43: False}


def evaluate(inputs):
    program, scoring = inputs["artifacts"].get("program"), inputs["scoring"]
    checks = []
    for case in sorted(SECRET.glob("*.in")):
        ran = program and scoring.exec("run", ["python3", program], stdin=case.read_bytes(), timeout=2)
        right = bool(ran and ran.ok) and compared(scoring, case, ran.stdout_bytes)
        checks.append(evaluation_check(case.stem, status="PASS" if right else "FAIL", exec_result=ran or None))
    passed = sum(row["status"] == "PASS" for row in checks)
    return {"status": "PASS" if passed == len(checks) else "FAIL", "score": passed / len(checks), "checks": checks}


def compared(scoring, case, output):
    script = ["python3", "/attempt/task/lib/compare.py", case, case.with_suffix(".ans"), "/attempt/output"]
    return VERDICTS[scoring.exec("compare", [str(word) for word in script], stdin=output).exit_code]
