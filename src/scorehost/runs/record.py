"""job.json: what a job was asked, and what its verdicts rest on."""

from __future__ import annotations

import json
import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scorehost.model.direction import Direction
from scorehost.model.frozen import Frozen
from scorehost.spec.dataset import SubmissionCard

FORMAT = "scorehost.job/2"
_FIRST = "scorehost.job/1"
_IS_FIRST = re.compile(rb'"format"\s*:\s*"scorehost\.job/1"')
_FIRST_PARTS = ("spec", "code", "gold", "run")


class Asked(BaseModel):
    """Which attempts the job has. All but `kind` and `name` is the kind's own: its model reads it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str
    name: str | None = None


class DatasetRecord(Frozen):
    """Which dataset (suite, ground truth) it was."""

    root: str
    dataset_id: str
    version: str
    layout: str = ""
    gold_key: str | None = Field(
        None, description="which gold.key binds gold; null: as in jobs of scorehost.job/1, or no gold at all"
    )
    file: str = Field("", description="digest of its own file; tells where a change of a task came from")


class MetricRecord(Frozen):
    """A metric that a task declares."""

    id: str
    direction: Literal["maximize", "minimize"] = "maximize"
    aggregate: Literal["mean", "median", "min", "max", "sum"] = "mean"


class TaskRecord(Frozen):
    """What a task (a case, an eval) was when the job began, and what its figures need.

    `digests` by part: everything that bears on verdicts. `files`: digests that decide nothing, and tell which
    file a change came from. `provoked`: what becomes of an ERROR that the work itself can have brought about
    (`scorehost.runs.provoked`): it counts as the lowest score, or leaves the job incomplete.
    """

    digests: dict[str, str]
    files: dict[str, str] = Field(default_factory=dict)
    weight: float = 1.0
    score_range: tuple[float, float] | None = None
    direction: Direction = "maximize"
    verdict: Literal["pass_fail", "none"] = "pass_fail"
    metrics: tuple[MetricRecord, ...] = ()
    provoked: Literal["lowest", "incomplete"] = "incomplete"


class SubmissionRecord(Frozen):
    """One submission (an arm, an evaluator, a candidate), with the digest of its content.

    None where it has none of its own (`empty`, `run`), and for folders in jobs of `scorehost.job/1`.
    """

    name: str
    kind: str
    path: str | None = None
    digest: str | None = None
    card: SubmissionCard | None = None  # submission.yaml
    label: str | None = Field(
        None, description="what it was called where `name` had to be made from that; null where it says all"
    )


class PlanRecord(Frozen):
    """How many attempts there are; digests of their keys, and of keys and fingerprints, in order."""

    planned: int
    digest: str
    fingerprint: str | None = Field(None, description="null in jobs of scorehost.job/1")


class ParentRecord(Frozen):
    """The job whose archived artifacts are scored again; `root_hash` is that of its events by then."""

    job_id: str
    root_hash: str


class Subject(Frozen):
    """What a job's verdicts rest on: the same when it is resumed; and what reports need to know of it."""

    dataset: DatasetRecord
    profile: str = Field(description="digest of profiles.yaml as it was read")
    tasks: dict[str, TaskRecord]
    submissions: tuple[SubmissionRecord, ...]
    samples: dict[str, int] = Field(description="how many samples each submission has, over all tasks")

    def by_dataset_file(self, other: Subject, task_id: str) -> bool:
        """Whether a task that reads otherwise in `other` does so by the dataset's file, not by its own."""
        ours, theirs = self.tasks[task_id].files, other.tasks[task_id].files
        return bool(ours) and ours == theirs and self.dataset.file != other.dataset.file


class JobRecord(Subject):
    """The content of job.json. One of `scorehost.job/1` is read as if it were of `/2`."""

    format: Literal["scorehost.job/1", "scorehost.job/2"] = "scorehost.job/2"
    kind: str
    job_id: str
    created_at: str
    scorehost: str
    asked: Asked
    plan: PlanRecord
    parent: ParentRecord | None = None


def parse_record(data: bytes) -> JobRecord:
    """job.json of this and of the last format. Raises pydantic's ValidationError."""
    if _IS_FIRST.search(data):
        data = _as_second(data)
    return JobRecord.model_validate_json(data)


def _as_second(data: bytes) -> bytes:
    """`scorehost.job/1` knew score jobs only, and had the digests of a task beside its figures' needs."""
    try:
        record = json.loads(data)
        if record.get("format") != _FIRST:
            return data
        record["kind"] = "score"
        record["asked"] = {"kind": "score", **record["asked"]}
        for task in record["tasks"].values():
            task["digests"] = {part: task.pop(part) for part in _FIRST_PARTS if part in task}
            task["metrics"] = [{"id": name} for name in task.get("metrics", ())]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return data  # what is wrong with it, the model says
    return json.dumps(record).encode()
