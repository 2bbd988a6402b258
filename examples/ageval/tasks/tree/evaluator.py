"""Runs the program in the task's single scoring environment, beside this evaluator."""

from pathlib import Path

GOLD = Path(__file__).parent / "evaluation"


async def evaluate(inputs):
    program = inputs["artifacts"].get("repo")
    if program is None:
        return {"status": "FAIL", "score": 0.0}
    clean = not (Path(program) / "noise.log").exists()
    ran = await inputs["scoring"].exec("evaluate", ["python3", f"{program}/main.py"], timeout=10)
    right = clean and ran.ok and ran.stdout == (GOLD / "expected.txt").read_text(encoding="utf-8")
    return {"status": "PASS" if right else "FAIL", "score": float(right)}
