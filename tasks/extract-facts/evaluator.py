"""PASS when every fact is exactly as in the gold set, and nothing else was handed in."""

import json
from pathlib import Path

from scorehost_sdk import evaluation_check
from shared import answers, canary


def evaluate(inputs):
    try:
        facts = answers.read_object(inputs["artifacts"].get("facts"))
    except answers.MalformedError as problem:
        return answers.refused(problem)

    gold = json.loads(Path(inputs["evaluation_dir"], "facts.json").read_text("utf-8"))
    checks = [fact_check(key, facts, wanted) for key, wanted in gold.items()]
    checks.append(
        evaluation_check(
            "no-extras",
            title="No keys beyond those asked for",
            status="PASS" if facts.keys() <= gold.keys() else "FAIL",
            visibility="public",
        )
    )
    submitted = Path(inputs["artifacts"]["facts"]).read_bytes()
    leaked = canary.quoted(submitted, inputs["evaluation_dir"])
    checks.append(evaluation_check("gold-unseen", status="FAIL" if leaked else "PASS"))

    passed = all(check["status"] == "PASS" for check in checks)
    return {"status": "PASS" if passed else "FAIL", "checks": checks}


def fact_check(key, facts, wanted):
    if key in facts and answers.same(facts[key], wanted):
        return evaluation_check(f"fact.{key}", status="PASS")
    found = repr(facts[key])[:200] if key in facts else "nothing"
    return evaluation_check(f"fact.{key}", status="FAIL", message=f"wanted {wanted!r}, found {found}")
