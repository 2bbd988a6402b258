"""summary.json of a job."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from scorehost.model.call import RoleUsage
from scorehost.model.direction import GroupDirection
from scorehost.model.frozen import Frozen

JobStatus = Literal["complete", "incomplete", "interrupted", "invalidated"]


class Counts(Frozen):
    """How many attempts ended how."""

    PASS: int
    FAIL: int
    ERROR: int


class ErrorCount(Frozen):
    """How many attempts are ERROR for one kind and blame, and how many of them count as the lowest score.

    The others are left out of the mean. `as_lowest` is None in summaries of earlier releases.
    """

    kind: str
    blame: str
    count: int
    as_lowest: int | None = None


class Bounds(Frozen):
    """The mean with every ERROR as the lowest, and with every ERROR as the highest score.

    None when a task's range is open, or when nothing is done.
    """

    lower: float | None
    upper: float | None


class MetricSummary(Frozen):
    """A declared metric over `n` attempts that returned it as a number; `value` None when none did.

    `left_out` counts attempts with a verdict that returned something else, by what that is.
    """

    id: str
    direction: Literal["maximize", "minimize"]
    aggregate: Literal["mean", "median", "min", "max", "sum"]
    value: float | None
    n: int
    left_out: dict[str, int] = Field(default_factory=dict)


class Warned(Frozen):
    """A warning that `count` attempts say, the first of which `attempts` names; the job's own names none."""

    text: str
    count: int
    attempts: tuple[str, ...] = ()


class WarningsTold(Frozen):
    """Warnings of a job, each text once; `warnings_left_out` are further ones that are not listed."""

    warnings: tuple[Warned, ...] = ()
    warnings_left_out: int = 0


class Group(Frozen):
    """The figures of a set of attempts: of a task, a submission, a tag, or the whole job.

    `mean_score` rests on `n` attempts, of which `errors_as_lowest` are ERRORs that count as the lowest score
    (the highest, where scores are minimised); `errors_provoked` of these were agents that failed at work that
    can have made them fail, though they answered others. `errors_left_out` are in neither. `pass_at_k` and
    `pass_power_k` are over tasks that have verdicts, and go from k (as text) to a rate, None where a task has
    fewer than k samples that count, be it none.
    """

    planned: int
    done: int
    counts: Counts
    scored: int = Field(0, description="attempts that have a score and no verdict (SCORED)")
    direction: GroupDirection = Field(
        "maximize", description="which way scores are better; mixed: tasks of both, so there is no mean"
    )
    errors: tuple[ErrorCount, ...]
    mean_score: float | None
    n: int
    errors_as_lowest: int
    errors_provoked: int = 0
    errors_left_out: int
    bounds: Bounds
    pass_at_k: dict[str, float | None]
    pass_power_k: dict[str, float | None]
    agreement: float | None
    metrics: tuple[MetricSummary, ...]


class Rank(Frozen):
    """A submission's place. `score`: its worse bound (the lower, where scores are maximised); where a range
    is open, its mean if no ERROR is out.
    """

    rank: int
    submission: str
    score: float | None
    tasks: int


class Groups(Frozen):
    """The figures of a job's parts, by name."""

    tasks: dict[str, Group]
    submissions: dict[str, Group]
    tags: dict[str, Group]


class KindFigures(Frozen):
    """What a kind of job adds to summary.json beside what every job has there; each has a subclass."""


class Summary(Group):
    """The content of summary.json: the whole job's figures, those of its parts, and what its kind adds."""

    model_config = ConfigDict(extra="allow")  # a kind's own figures

    format: Literal["scorehost.summary/1"] = "scorehost.summary/1"
    kind: str = "score"
    job_id: str
    name: str | None
    dataset_id: str
    dataset_version: str
    status: JobStatus
    parent: str | None = Field(None, description="the job whose artifacts were scored again")
    carried: int = Field(0, description="attempts that stand as the parent, or its own, scored them")
    usage: dict[str, RoleUsage] = Field(
        default_factory=dict,
        description="what calls of agents used, by role; calls of attempts made again too",
    )
    adapter_isolation: str | None = Field(
        None, description="the user that adapters run as, or none; null where no role is bound"
    )
    shared_host: bool = Field(
        default=False,
        description="scored in the run phases' own containers, not isolated",
    )
    message: str = Field("", description="why it stopped early, or what makes it invalid")
    warnings: tuple[Warned, ...] = Field(
        (), description="everything left out, ignored or taken instead, each text once; the job's own first"
    )
    warnings_left_out: int = Field(0, description="further warnings that are not listed")
    started_at: str
    finished_at: str
    tasks: dict[str, Group]
    submissions: dict[str, Group]
    tags: dict[str, Group]
    ranking: tuple[Rank, ...] = ()
