"""A dataset as it was found on disk: frozen models plus the folders that they came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SkipValidation

from scorehost.model.frozen import Frozen
from scorehost.model.limits import Limits
from scorehost.spec.profiles import Profiles
from scorehost.spec.task import Evaluation, TaskSpec

# Names of files that are not UTF-8 hold surrogates, which pydantic's text refuses.
TreeFiles = Annotated[dict[str, Path], SkipValidation]


class Expectation(Frozen):
    """expect.yaml of a wrong solution: what its verdict should look like."""

    status: Literal["FAIL", "ERROR"] | None = None
    check: str | None = None
    max_score: float | None = None
    min_score: float | None = None  # for a score that is minimised: a wrong solution must not come below


class SubmissionCard(Frozen):
    """submission.yaml: who made a submission, and how."""

    name: str | None = Field(None, pattern=r"^[A-Za-z0-9._-]{1,64}$")
    team: str | None = None
    model: str | None = None
    date: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class TasksFolder(Frozen):
    """Where a dataset keeps its tasks, relative to its own folder."""

    root: str = Field("tasks", min_length=1)


class Defaults(Frozen):
    """What every task of a dataset starts from, key by key."""

    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()


class DatasetFile(Frozen):
    """dataset.yaml."""

    format: Literal["scorehost.dataset/1"] = "scorehost.dataset/1"
    dataset_id: str = Field(min_length=1, max_length=128)
    version: str = Field(min_length=1, max_length=128)
    description: str = ""
    tasks: TasksFolder = TasksFolder()
    metadata: dict[str, Any] = Field(default_factory=dict)
    defaults: Defaults = Defaults()


class Task(Frozen):
    """One task folder. `gold` maps paths below /attempt/evaluation to files on disk, shared gold included."""

    spec: TaskSpec
    folder: Path
    gold: TreeFiles
    code: TreeFiles  # paths below /attempt/task: evaluator.py, lib/…, shared/…
    evaluate_dockerfile: Path | None = None  # environment/evaluate.Dockerfile, when there is one
    recipes: dict[str, Path] = Field(default_factory=dict)  # Dockerfiles of named environments, by name
    shared_context: dict[str, Path] = Field(
        default_factory=dict
    )  # evaluation.shared_context, by what is written
    run_script: Path | None = None  # run.py
    run_code: TreeFiles = Field(default_factory=dict)  # what the run phase sees at /attempt/task, run.py too
    data: TreeFiles = Field(default_factory=dict)  # what lies in its workspace
    run_dockerfile: Path | None = None  # environment/Dockerfile, when there is one
    solution: Path | None = None
    wrong: dict[str, Path] = Field(default_factory=dict)
    expected: dict[str, Expectation] = Field(default_factory=dict)  # expect.yaml of `wrong`, by name

    @property
    def task_id(self) -> str:
        """The task's id, which is its folder's name."""
        return self.spec.task_id


class Dataset(Frozen):
    """A dataset; `tasks` in order of id."""

    root: Path
    gold_home: Path | None = None  # the folder of private gold, when one was given; gold.key lies there then
    dataset_id: str
    version: str
    description: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    layout: Literal["scorehost", "ageval"] = "scorehost"
    profiles: Profiles
    profiles_path: Path
    tasks: dict[str, Task]
    warnings: tuple[str, ...] = ()
