"""Runs the cells and the questions of the tests in a host without them; compares the answers here."""

import doctest
import json
import runpy
from pathlib import Path

from scorehost_sdk import evaluation_check

ASK = """
import json as _json
def _told(question):
    try:
        return repr(eval(question, globals()))
    except Exception as error:
        return type(error).__name__
print(_json.dumps([_told(question) for question in _json.loads(input())]))
"""


def evaluate(inputs):
    tests = [runpy.run_path(str(path))["test"] for path in sorted((Path(__file__).parent / "evaluation").glob("q*.py"))]
    cases = [
        (test, example)
        for test in tests
        for suite in test["suites"]
        for case in suite["cases"]
        for example in doctest.DocTestParser().get_examples(case["code"])
    ]
    told = answers(inputs, [example.source.strip() for _, example in cases])
    wrong = {test["name"] for (test, example), answer in zip(cases, told) if answer != example.want.strip()}
    points = {test["name"]: test["points"] for test in tests}
    score = sum(worth for name, worth in points.items() if name not in wrong) / sum(points.values())
    checks = [evaluation_check(name, status="FAIL" if name in wrong else "PASS") for name in points]
    return {"status": "FAIL" if wrong else "PASS", "score": score, "checks": checks}


def answers(inputs, questions):
    nothing = [None] * len(questions)
    try:
        cells = json.loads(Path(inputs["artifacts"]["notebook"]).read_bytes())["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        ran = inputs["scoring"].exec("sandbox", ["python3", "-c", code + ASK], stdin=json.dumps(questions))
        found = json.loads(ran.stdout.splitlines()[-1]) if ran.ok else nothing
    except (KeyError, TypeError, ValueError, IndexError, RecursionError):
        return nothing
    return found if isinstance(found, list) and len(found) == len(questions) else nothing
