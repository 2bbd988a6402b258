"""The data that `inputs` of an evaluator holds, as it travels to the runner."""

from __future__ import annotations

from typing import Any

from scorehost.attempt.layout import Layout
from scorehost.attempt.work import WorkOrder
from scorehost.hosts.blueprint import ARTIFACTS, EVALUATION, OUTPUT, ROOT, WORKSPACE
from scorehost.hosts.production import Produced
from scorehost.model.failure import Phase
from scorehost.spec.gold_key import GoldKey


def evaluator_inputs(
    order: WorkOrder, layout: Layout, key: GoldKey, end: Produced | None = None
) -> dict[str, Any]:
    """A JSON object; paths are those inside the container. The seed is drawn from the key of the gold, which
    no submitter has (docs/adr/0023). `end`: of the run phase, when there was one.
    """
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
        "task": _task(order, key, Phase.EVALUATE),
        "run": run,
    }


def run_inputs(order: WorkOrder, key: GoldKey, layout: str) -> dict[str, Any]:
    """What the context of a run phase is made of. Its seed tells nothing of the evaluator's; `layout` is the
    dataset's.
    """
    spec = order.work.task.spec
    return {
        "parameters": spec.parameters,
        "task": _task(order, key, Phase.RUN),
        "layout": layout,
        "artifacts": [{"id": each.id, "path": each.path, "kind": each.kind} for each in spec.artifacts],
    }


def _task(order: WorkOrder, gold: GoldKey, phase: Phase) -> dict[str, Any]:
    key = order.key
    return {
        "task_id": key.task_id,
        "attempt": order.number,
        "submission": key.submission,
        "sample": key.sample,
        "repeat": key.repeat,
        "seed": gold.seed(key, phase),
    }
