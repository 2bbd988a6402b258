"""Compares what was chosen with the gold beside this file."""

import json
from pathlib import Path

GOLD = Path(__file__).parent / "evaluation"


def evaluate(inputs):
    raw = (inputs.get("artifacts") or {}).get("final-state")
    if not raw or not Path(raw).is_file():
        return {"status": "FAIL", "score": 0.0, "metrics": {"reason": "final_state_missing"}}
    try:
        found = json.loads(Path(raw).read_text(encoding="utf-8"))
    except ValueError:
        return {"status": "FAIL", "score": 0.0, "metrics": {"reason": "no_json"}}
    expected = json.loads((GOLD / "expected.json").read_text(encoding="utf-8"))
    same = found == expected
    return {"status": "PASS" if same else "FAIL", "score": 1.0 if same else 0.0, "metrics": {"same": int(same)}}
