"""result.json of an attempt."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from scorehost.model.failure import Failure
from scorehost.model.frozen import Frozen
from scorehost.model.ids import AttemptKey, path_part
from scorehost.model.json import BadJson, dump, parse

GOOD = ("PASS", "SCORED")  # nothing has to be said of why
FIRST = "scorehost.result/1"
Status = Literal["PASS", "FAIL", "SCORED", "ERROR"]
Kind = Literal["score", "suite", "observe", "quality"]
Evaluated = Literal["passed", "failed", "scored", "not_evaluated"]
_EVALUATED: dict[Status, Evaluated] = {
    "PASS": "passed",
    "FAIL": "failed",
    "SCORED": "scored",
    "ERROR": "not_evaluated",
}


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
    """Everything that bears on a verdict: comparisons refuse a ranking where these differ.

    A part is None where the verdict does not rest on such a thing.
    """

    task: str | None
    evaluator: str | None
    gold: str | None = Field(description="gold-hmac: under gold.key; sha256: in results of format /1")
    gold_key: str | None = Field(None, description="which gold.key, by 16 hex digits; null before format /2")
    images: dict[str, str]  # host name -> image id, of every host that the task may start and that is known
    limits: str | None
    sdk: str | None
    roles: dict[str, str] = Field(
        default_factory=dict, description="role -> digest of what answered, of each that was asked in scoring"
    )

    @property
    def first(self) -> bool:
        """Whether these are digests as `scorehost.result/1` had them."""
        return self.gold is not None and self.gold_key is None


class Digests(Frozen):
    """What the verdict was bound to."""

    scoring: ScoringDigests | None
    submission: str | None
    operational: dict[str, str]


class Versions(Frozen):
    """What ran: scorehost, and the engine's machine as the engine reports it (None where no host ran)."""

    scorehost: str
    engine: str | None
    kernel: str | None
    runtime: str | None
    architecture: str | None


class AgentCalls(Frozen):
    """The calls of one role in an attempt: how many were made and, of these, had a reply.

    `unreadable`: replies of sessions that are not one JSON object, which an evaluator may have read as text.
    `faults`: kinds of failure of the others, and how often; in a result that is PASS or FAIL the evaluator
    caught them.
    """

    made: int
    answered: int
    unreadable: int = 0
    faults: dict[str, int] = Field(default_factory=dict)


class Result(Frozen):
    """One attempt's outcome. `score` is None exactly when `status` is ERROR.

    `task_id` and `submission` are the ids as they were given, whatever the attempt's folder is called.
    """

    model_config = ConfigDict(populate_by_name=True)

    format: Literal["scorehost.result/2"] = "scorehost.result/2"
    kind: Kind = "score"
    job_id: str
    task_id: str
    submission: str
    sample: int
    repeat: int
    try_number: int = Field(1, alias="try", description="which try of this key, from 1")
    status: Status
    infrastructure: str = Field(description="ok, or the kind of the failure")
    evaluation: Evaluated = Field(description="what the evaluation came to")
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
    agents: dict[str, AgentCalls] = Field(default_factory=dict, description="calls of agents, by role")
    salt: str | None = Field(
        None, description="random, where metrics hold private values: else this file's hash would tell them"
    )

    @model_validator(mode="after")
    def _agree(self) -> Result:
        told = (self.infrastructure, self.evaluation)
        if told != axes(self.status, self.error):
            raise ValueError(f"infrastructure and evaluation are {told}, which is not what the status says")
        if (self.status == "ERROR") != (self.error is not None):
            raise ValueError("an error stands exactly in a result of status ERROR")
        if (self.status == "ERROR") != (self.score is None):
            raise ValueError("a score stands exactly in a result that is no ERROR")
        if self.try_number < 1 or self.sample < 1 or self.repeat < 1:
            raise ValueError("sample, repeat and try count from 1")
        return self

    @property
    def key(self) -> AttemptKey:
        """Which attempt of the job this is; its parts are names of folders."""
        named = str if self.kind == "score" else path_part
        return AttemptKey(
            task_id=named(self.task_id),
            submission=named(self.submission),
            sample=self.sample,
            repeat=self.repeat,
        )


def axes(status: Status, error: Failure | None) -> tuple[str, Evaluated]:
    """`infrastructure` and `evaluation` of a result with this status and error."""
    return ("ok" if error is None else error.kind), _EVALUATED[status]


def result_bytes(result: Result) -> bytes:
    """What result.json holds."""
    return dump(result.model_dump(mode="json", by_alias=True))


def read_result(data: bytes) -> Result:
    """The result in the bytes of a result.json, also of format `/1`.

    Raises ValidationError for what is not a result, or contradicts itself.
    """
    try:
        return Result.model_validate_json(data)
    except ValidationError:
        if (known := _from_first(data)) is None:
            raise
    return Result.model_validate_json(known)


def _from_first(data: bytes) -> bytes | None:
    """A result of format `/1` as `/2` says it; None for anything else. Its digests stay what they were."""
    try:
        held = parse(data, max_bytes=len(data))
        if held["format"] != FIRST:
            return None
        status, error = held["status"], held["error"]
        infrastructure = "ok" if error is None else error["kind"]
        evaluation = _EVALUATED[status]
        number = held.pop("attempt", 1)
    except (BadJson, KeyError, TypeError):
        return None
    told = {"infrastructure": infrastructure, "evaluation": evaluation, "try": number}
    return dump({**held, **told, "format": "scorehost.result/2"})
