"""What can be known of a dataset without an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.importers import humaneval
from scorehost.spec.code_warnings import code_warnings
from scorehost.spec.loading import load_dataset
from scorehost.spec.stand_ins import stand_ins
from scorehost.submissions.shipped import shipped_faults

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One sound task, in numbers."""

    task_id: str
    artifacts: int
    gold_files: int
    environments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A dataset without problems; `warnings` are what may still not be meant."""

    root: Path
    dataset_id: str
    version: str
    layout: str
    tasks: tuple[TaskLine, ...]
    warnings: tuple[str, ...]


def check(dataset: Path, *, profiles: Path | None = None, gold: Path | None = None) -> CheckReport:
    """Reads every file of the dataset in `dataset`. SpecError holds all problems of all files."""
    found = load_dataset(dataset, profiles=profiles, gold=gold)
    return CheckReport(
        root=found.root,
        dataset_id=found.dataset_id,
        version=found.version,
        layout=found.layout,
        tasks=tuple(
            TaskLine(
                task_id=task.task_id,
                artifacts=len(task.spec.artifacts),
                gold_files=len(task.gold),
                environments=tuple(task.spec.evaluation.environments),
            )
            for task in found.tasks.values()
        ),
        warnings=(
            *found.warnings,
            *code_warnings(found.tasks.values(), found.root),
            *stand_ins(found.tasks.values()),
            *shipped_faults(found.tasks.values()),
        ),
    )


def import_humaneval(file: Path, folder: Path) -> int:
    """Writes the HumanEval problems of `file` (JSON lines, plain or .gz) into `folder`; how many."""
    return humaneval.import_humaneval(file, folder)
