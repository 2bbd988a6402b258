"""The data that `inputs` of an evaluator holds, as it travels to the runner."""

from __future__ import annotations

from typing import Any

from scorehost.attempt.layout import Layout
from scorehost.attempt.work import WorkOrder
from scorehost.hosts.blueprint import ARTIFACTS, EVALUATION, OUTPUT, ROOT, WORKSPACE
from scorehost.hosts.production import Produced


def evaluator_inputs(order: WorkOrder, layout: Layout, end: Produced | None = None) -> dict[str, Any]:
    """A JSON object; paths are those inside the container. `end`: of the run phase, when there was one."""
    run: dict[str, Any] = {"status": "submitted", "limit": None}
    if end is not None:
        run = {"status": end.status, "limit": end.limit}
    return {
        "artifacts": layout.paths,
        "artifacts_dir": f"{ROOT}/{ARTIFACTS}",
        "workspace_dir": f"{ROOT}/{WORKSPACE}",
        "evaluation_dir": f"{ROOT}/{EVALUATION}",
        "output_dir": f"{ROOT}/{OUTPUT}",
        "parameters": order.work.task.spec.parameters,
        "inputs": [row.model_dump() for row in layout.rows],
        "task": _task(order),
        "run": run,
    }


def run_inputs(order: WorkOrder, layout: str) -> dict[str, Any]:
    """What the context of a run phase is made of; `layout` is the dataset's."""
    spec = order.work.task.spec
    return {
        "parameters": spec.parameters,
        "task": _task(order),
        "layout": layout,
        "artifacts": [{"id": each.id, "path": each.path, "kind": each.kind} for each in spec.artifacts],
    }


def _task(order: WorkOrder) -> dict[str, Any]:
    key = order.key
    return {
        "task_id": key.task_id,
        "attempt": order.number,
        "submission": key.submission,
        "sample": key.sample,
        "repeat": key.repeat,
        "seed": key.seed,
    }
