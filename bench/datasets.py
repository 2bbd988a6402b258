"""The small datasets that are timed."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import yaml

IMAGE = "scorehost/python:3"
TRIVIAL = """
    def evaluate(inputs):
        return {"status": "PASS"}
"""
TWO_STAGE = """
    def evaluate(inputs):
        for name in ("audit", "verification"):
            if not inputs["scoring"].exec(name, ["true"]).ok:
                return {"status": "FAIL"}
        return {"status": "PASS"}
"""
EXECS = """
    import time
    def evaluate(inputs):
        scoring = inputs["scoring"]
        scoring.exec("work", ["true"])
        seconds = []
        for _ in range(20):
            begun = time.perf_counter()
            scoring.exec("work", ["python3", "-c", "pass"])
            seconds.append(time.perf_counter() - begun)
        return {"status": "PASS", "metrics": {"seconds": sorted(seconds)[10]}}
"""


def write(root: Path, *, evaluator: str = TRIVIAL, tasks: int = 1, warm: int = 0, **spec: Any) -> Path:
    """Writes a dataset of `tasks` equal tasks and one right solution each; gives its folder."""
    root.mkdir(parents=True)
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: bench\nversion: '1'\n")
    profiles = {
        "format": "scorehost.profiles/1",
        "environment": "docker",
        "evaluate_host": {"isolated": True, "warm": warm},
    }
    (root / "profiles.yaml").write_text(yaml.safe_dump(profiles))
    for number in range(tasks):
        folder = root / "tasks" / f"t{number}"
        (folder / "evaluation").mkdir(parents=True)
        (folder / "solution" / "artifacts").mkdir(parents=True)
        document = {
            "format": "scorehost.task/1",
            "task_id": folder.name,
            "description": "timed",
            "artifacts": {
                "publishable": [{"id": "answer", "path": "artifacts/answer.txt", "max_bytes": 4_000_000_000}]
            },
            **spec,
        }
        (folder / "task.yaml").write_text(yaml.safe_dump(document))
        (folder / "evaluator.py").write_text(textwrap.dedent(evaluator))
        (folder / "evaluation" / "gold.txt").write_text("gold")
        (folder / "solution" / "artifacts" / "answer.txt").write_text("42")
    return root


def two_stages() -> dict[str, Any]:
    """The environments of the two-stage task."""
    hosts = {"audit": {"docker_image": IMAGE}, "verification": {"docker_image": IMAGE}}
    return {"evaluation": {"environments": hosts}}


def one_host() -> dict[str, Any]:
    """One named host."""
    return {"evaluation": {"environments": {"work": {"docker_image": IMAGE}}}}
