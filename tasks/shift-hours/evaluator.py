"""The share of names whose minutes are right; PASS when all are and nobody else is named."""

import json
from pathlib import Path

from scorehost_sdk import evaluation_check
from shared import answers


def evaluate(inputs):
    try:
        found = answers.read_object(inputs["artifacts"].get("hours"))
    except answers.MalformedError as problem:
        return answers.refused(problem)
    gold = json.loads(Path(inputs["evaluation_dir"], "hours.json").read_text("utf-8"))
    right = {name: name in found and answers.same(found[name], minutes) for name, minutes in gold.items()}
    checks = [
        evaluation_check(f"hours.{name}", status="PASS" if well else "FAIL") for name, well in right.items()
    ]
    others = found.keys() - gold.keys()
    checks.append(
        evaluation_check(
            "no-extras",
            title="Nobody is named who had no shift",
            status="FAIL" if others else "PASS",
            visibility="public",
        )
    )
    passed = all(right.values()) and not others
    share = sum(right.values()) / len(right)
    return {"status": "PASS" if passed else "FAIL", "score": 1.0 if passed else min(share, 0.99), "checks": checks}
