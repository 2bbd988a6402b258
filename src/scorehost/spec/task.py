"""task.yaml as a frozen model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from scorehost.model.direction import Direction
from scorehost.model.frozen import Frozen, Later
from scorehost.model.limits import HostLimits, Limits

HOMES = ("artifacts", "workspace")
MAX_SUBMISSION_BYTES = 4 * 1024**3  # a hand-in is copied, hashed and sent whole for every attempt


class RoleRef(Frozen):
    """A role that the task may use."""

    id: str


class Artifact(Frozen):
    """A file or tree that a submission must contain at `path`."""

    id: str
    producer: Literal["run"] = "run"
    path: str
    media_type: str = "application/octet-stream"
    kind: Literal["file", "tree"] = "file"
    max_bytes: int = Field(67_108_864, ge=0, le=MAX_SUBMISSION_BYTES)
    exclude: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Where it lies in a host, below /attempt, and in an attempt's folder: `path`, which is put below
        artifacts/ when it is neither there nor below workspace/.
        """
        return self.path if self.path.partition("/")[0] in HOMES else f"{HOMES[0]}/{self.path}"


class InputRow(Frozen):
    """Where an artifact appears in a scoring host, relative to /attempt."""

    artifact: str
    target: str


class Output(Frozen):
    """What a score may be; `score_range` None: any finite number.

    `direction`: which way it is better. `verdict` none: the evaluator returns a score, and nothing passes or
    fails.
    """

    format: Literal["json"] = "json"
    score_range: tuple[float, float] | None = (0.0, 1.0)
    direction: Annotated[Direction, Later()] = "maximize"
    verdict: Annotated[Literal["pass_fail", "none"], Later()] = "pass_fail"


class Metric(Frozen):
    """A metric that the job sums up beside the score."""

    id: str
    direction: Literal["maximize", "minimize"] = "maximize"
    aggregate: Literal["mean", "median", "min", "max", "sum"] = "mean"


class NamedEnvironment(Frozen):
    """A named scoring environment: exactly one of `docker_image`, `dockerfile` (relative to the task).

    `file_locks`: programs may lock parts of files (SQLite); each lock is memory that no limit counts.
    """

    docker_image: str | None = None
    dockerfile: str | None = None
    gold: bool = True
    artifacts: bool = True
    fresh: bool = False
    tmpfs_mb: int = Field(256, ge=1, le=1_048_576)
    tmpfs_exec: bool = False
    file_locks: Annotated[bool, Later()] = False
    shm_mb: int = Field(16, ge=1, le=1_048_576)
    workspace: Literal["readonly", "copy"] = "readonly"
    scratch: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    workdir: str | None = None
    user: int | None = Field(None, ge=1, le=2_147_483_647)
    limits: HostLimits = HostLimits()


class Evaluation(Frozen):
    """How the task is scored. `tmpfs_mb`, `tmpfs_exec`, `env`, `file_locks`: of the evaluator's own host.
    `tolerate_agent_faults`: PASS stands though the evaluator caught that a call of an agent failed.
    """

    runtime: Literal["python"] = "python"
    entrypoint: str = "evaluator:evaluate"
    network: Literal["none"] = "none"
    tmpfs_mb: int = Field(32, ge=1, le=1_048_576)
    tmpfs_exec: Annotated[bool, Later()] = False
    env: Annotated[dict[str, str], Later()] = Field({})
    file_locks: Annotated[bool, Later()] = False
    inputs: tuple[InputRow, ...] | None = None
    output: Output = Output()
    metrics: tuple[Metric, ...] = ()
    docker_image: str | None = None
    environments: dict[str, NamedEnvironment] = Field(default_factory=dict)
    evaluator_environment: str | None = None
    shared_context: tuple[str, ...] = ()
    tolerate_agent_faults: Annotated[bool, Later()] = False


class TaskBody(Frozen):
    """What task.yaml says, without its artifacts."""

    format: Literal["scorehost.task/1"] = "scorehost.task/1"
    task_id: str
    description: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    tags: tuple[str, ...] = ()
    weight: float = Field(1.0, ge=0, allow_inf_nan=False)
    parameters: dict[str, Any] = Field(default_factory=dict)
    agent_profiles: tuple[RoleRef, ...] = ()
    limits: Limits = Limits()
    evaluation: Evaluation = Evaluation()


class Artifacts(Frozen):
    """`artifacts` of task.yaml."""

    publishable: tuple[Artifact, ...] = ()


class TaskFile(TaskBody):
    """task.yaml as it stands in the file."""

    artifacts: Artifacts = Artifacts()


class TaskSpec(TaskBody):
    """The content of task.yaml, with the dataset's defaults laid under it."""

    artifacts: tuple[Artifact, ...] = ()  # `artifacts.publishable` of the file

    @property
    def input_rows(self) -> tuple[InputRow, ...]:
        """`evaluation.inputs`; when the task has none, every artifact at its own path."""
        if self.evaluation.inputs is not None:
            return self.evaluation.inputs
        return tuple(InputRow(artifact=each.id, target=each.place) for each in self.artifacts)
