"""`--dry-run`: what a job would do, with nothing written below `runs/`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.jobs.plan import make_plan

if TYPE_CHECKING:
    from scorehost.attempt.order import Source
    from scorehost.jobs.options import RunOptions
    from scorehost.model.ids import AttemptKey
    from scorehost.spec.dataset import Dataset, Task


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One attempt that would be made.

    `handed_in` names the artifacts that are there, `missing` those that are not; `hosts` the evaluator's image or
    recipe and those of the named hosts that the evaluator may start, as `name=image`.
    """

    key: AttemptKey
    handed_in: tuple[str, ...]
    missing: tuple[str, ...]
    hosts: tuple[str, ...]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan as rows, in the order in which attempts would be taken, and what is worth a warning."""

    rows: tuple[PlannedRow, ...]
    warnings: tuple[str, ...]


def preview(options: RunOptions, dataset: Dataset) -> Preview:
    """Plans and checks as `run_job` does. UsageError and SpecError for what was asked wrongly.

    Archives are unpacked into a temporary folder, which is gone afterwards.
    """
    warnings: list[str] = list(dataset.warnings)
    with tempfile.TemporaryDirectory(prefix="scorehost-") as staging:
        plan = make_plan(options, dataset, staging=Path(staging), warn=warnings.append)
        hosts = {task_id: _hosts(task, dataset) for task_id, task in plan.tasks.items()}
        rows = []
        for order in plan.orders:
            there = _handed_in(order.task, order.source)
            rows.append(
                PlannedRow(
                    key=order.key,
                    handed_in=there,
                    missing=tuple(one.id for one in order.task.spec.artifacts if one.id not in there),
                    hosts=hosts[order.key.task_id],
                    refused=order.source.refused,
                )
            )
    return Preview(tuple(rows), tuple(warnings))


def _handed_in(task: Task, source: Source) -> tuple[str, ...]:
    there = []
    for artifact in task.spec.artifacts:
        in_folder = source.folder is not None and (source.folder / artifact.path).is_symlink()
        in_folder = in_folder or (source.folder is not None and (source.folder / artifact.path).exists())
        if artifact.id in source.texts or in_folder:
            there.append(artifact.id)
    return tuple(there)


def _hosts(task: Task, dataset: Dataset) -> tuple[str, ...]:
    evaluation = task.spec.evaluation
    default = dataset.profiles.evaluate_host.docker_image
    if not evaluation.environments:
        single = "environment/evaluate.Dockerfile" if task.evaluate_dockerfile else evaluation.docker_image or default
        return (f"evaluator={single}",)
    named = {
        name: host.docker_image or host.dockerfile or "" for name, host in evaluation.environments.items()
    }
    evaluator = named.get(evaluation.evaluator_environment or "", default)
    return (f"evaluator={evaluator}", *(f"{name}={image}" for name, image in named.items()))
