"""result.json of an attempt."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from scorehost.model.failure import Failure
from scorehost.model.frozen import Frozen
from scorehost.model.ids import AttemptKey

Status = Literal["PASS", "FAIL", "ERROR"]


class HostUsage(Frozen):
    """One container of the attempt: what it was made from, what it used (None: nobody could tell)."""

    name: str
    image: str
    image_id: str
    started_at: str
    peak_memory_bytes: int | None
    cpu_seconds: float | None
    execs: int
    recipe: str | None = Field(None, description="digest of the recipe that the image was built from")
    ended: str  # removed | timed_out | oom | output_limit | lost | reset | cut_off


class ScoringDigests(Frozen):
    """Everything that bears on a verdict: comparisons refuse a ranking where these differ."""

    task: str
    evaluator: str
    gold: str
    images: dict[str, str]  # host name -> image id, of every host that the task may start and that is known
    limits: str
    sdk: str


class Digests(Frozen):
    """What the verdict was bound to."""

    scoring: ScoringDigests | None
    submission: str | None
    operational: dict[str, str]


class Versions(Frozen):
    """What ran: scorehost, and the engine's machine as the engine reports it."""

    scorehost: str
    engine: str
    kernel: str
    runtime: str
    architecture: str


class Result(Frozen):
    """One attempt's outcome. `score` is None exactly when `status` is ERROR."""

    format: Literal["scorehost.result/1"] = "scorehost.result/1"
    job_id: str
    task_id: str
    submission: str
    sample: int
    repeat: int
    attempt: int = 1  # which try of this key, from 1
    status: Status
    score: float | None = Field(allow_inf_nan=False)
    metrics: dict[str, Any]
    limit: str | None = None
    error: Failure | None
    warnings: tuple[str, ...]
    started_at: str
    finished_at: str
    timing: dict[str, float]
    hosts: tuple[HostUsage, ...]
    digests: Digests
    versions: Versions
    agent_invocations: int = 0

    @property
    def key(self) -> AttemptKey:
        """Which attempt of the job this is."""
        return AttemptKey(
            task_id=self.task_id, submission=self.submission, sample=self.sample, repeat=self.repeat
        )
