"""The data that `inputs` of an evaluator holds, as it travels to the runner."""

from __future__ import annotations

from typing import Any

from scorehost.attempt.layout import Layout
from scorehost.attempt.order import Order
from scorehost.hosts.blueprint import ARTIFACTS, EVALUATION, OUTPUT, ROOT, WORKSPACE


def evaluator_inputs(order: Order, layout: Layout) -> dict[str, Any]:
    """A JSON object; paths are those inside the container."""
    key = order.key
    return {
        "artifacts": layout.paths,
        "artifacts_dir": f"{ROOT}/{ARTIFACTS}",
        "workspace_dir": f"{ROOT}/{WORKSPACE}",
        "evaluation_dir": f"{ROOT}/{EVALUATION}",
        "output_dir": f"{ROOT}/{OUTPUT}",
        "parameters": order.task.spec.parameters,
        "inputs": [row.model_dump() for row in layout.rows],
        "task": {
            "task_id": key.task_id,
            "attempt": order.number,
            "submission": key.submission,
            "sample": key.sample,
            "repeat": key.repeat,
            "seed": key.seed,
        },
        "run": {"status": "submitted", "limit": None},
    }
