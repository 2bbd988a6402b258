"""Scores the share of words whose count is right; a PASS needs all of them and no others."""

import json
from pathlib import Path

from scorehost_sdk import evaluation_check


def evaluate(inputs):
    """Gives the verdict on one submission."""
    expected = json.loads((Path(inputs["evaluation_dir"]) / "expected.json").read_text())
    given = read_counts(inputs["artifacts"].get("counts"))
    if given is None:
        check = evaluation_check("readable", status="FAIL", message="counts.json is no JSON object")
        return {"status": "FAIL", "score": 0.0, "checks": [check]}
    right = sum(type(given.get(word)) is int and given[word] == number for word, number in expected.items())
    extra = set(given) - set(expected)
    ok = right == len(expected) and not extra
    check = evaluation_check(
        "counts",
        status="PASS" if ok else "FAIL",
        message=f"{right} of {len(expected)} words right, {len(extra)} words too many",
        visibility="public",
    )
    score = 1.0 if ok else min(right / len(expected), 0.99)
    return {"status": "PASS" if ok else "FAIL", "score": score, "checks": [check]}


def read_counts(path):
    """The submitted object, or None when there is none: a bad hand-in is a FAIL, never a crash."""
    if path is None:
        return None
    try:
        value = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
