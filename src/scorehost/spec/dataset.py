"""A dataset as it was found on disk: frozen models plus the folders that they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from scorehost.model.frozen import Frozen
from scorehost.spec.profiles import Profiles
from scorehost.spec.task import TaskSpec


class Expectation(Frozen):
    """expect.yaml of a wrong solution: what its verdict should look like."""

    status: Literal["FAIL", "ERROR"] | None = None
    check: str | None = None
    max_score: float | None = None


class Task(Frozen):
    """One task folder. `gold` maps paths below /attempt/evaluation to files on disk, shared gold included."""

    spec: TaskSpec
    folder: Path
    gold: dict[str, Path]
    code: dict[str, Path]  # paths below /attempt/task: evaluator.py, lib/…, shared/…
    evaluate_dockerfile: Path | None = None  # environment/evaluate.Dockerfile, when there is one
    solution: Path | None = None
    wrong: dict[str, Path] = Field(default_factory=dict)

    @property
    def task_id(self) -> str:
        """The task's id, which is its folder's name."""
        return self.spec.task_id


class Dataset(Frozen):
    """A dataset; `tasks` in order of id."""

    root: Path
    dataset_id: str
    version: str
    description: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    layout: Literal["scorehost", "ageval"] = "scorehost"
    profiles: Profiles
    profiles_path: Path
    tasks: dict[str, Task]
    warnings: tuple[str, ...] = ()
