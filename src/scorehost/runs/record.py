"""job.json: what a job was asked."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from scorehost.aio.aside import still_wanted
from scorehost.files.names import escaped
from scorehost.model.canonical import jcs_digest
from scorehost.model.frozen import Frozen
from scorehost.model.json import digest
from scorehost.spec.dataset import SubmissionCard
from scorehost.spec.digests import task_digest
from scorehost.spec.gold_key import GoldFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scorehost.jobs.options import RunOptions
    from scorehost.spec.dataset import Dataset, Task
    from scorehost.spec.gold_key import GoldKey

HASHED_BYTES = 8 * 1024 * 1024  # a larger file counts by its size here; result.json has its full digest
_CHUNK = 1024 * 1024


class Asked(Frozen):
    """The options that decide which attempts there are and what they score; paths are absolute."""

    dataset: str
    tasks: tuple[str, ...]
    tags: tuple[str, ...]
    limit: int | None
    submissions: tuple[str, ...]
    submissions_dir: str | None
    predictions: str | None
    repeat: int
    profiles: str | None
    parameters: dict[str, Any]
    gold: str | None
    name: str | None
    samples: int | None = Field(None, description="of the run phase")
    parent: str | None = Field(None, description="folder of the job that is scored again")
    changed: bool = Field(default=False, description="only what changed since then")
    staged: str | None = Field(None, description="folder of the hand-ins that an audit made")


class DatasetRecord(Frozen):
    """Which dataset it was."""

    root: str
    dataset_id: str
    version: str
    layout: str
    gold_key: str | None = Field(
        None, description="which gold.key binds gold; null: digests are as in the first results"
    )


class TaskRecord(Frozen):
    """What a task was when the job began: digests that show a later change, and what its figures need."""

    spec: str
    code: str
    gold: str
    weight: float = 1.0
    run: str = Field("", description="of run.py, prompts/, schemas/ and data/; empty without a run.py")
    score_range: tuple[float, float] | None = None
    metrics: tuple[str, ...] = Field((), description="ids of the declared ones")


class SubmissionRecord(Frozen):
    """One submission. `digest` is that of an archive or a predictions file, None for folders."""

    name: str
    kind: Literal["solution", "wrong", "empty", "folder", "archive", "predictions", "run", "staged"]
    path: str | None = None
    digest: str | None = None
    card: SubmissionCard | None = None  # submission.yaml


class PlanRecord(Frozen):
    """How many attempts there are, and the digest of their keys in order."""

    planned: int
    digest: str


class ParentRecord(Frozen):
    """The job whose archived artifacts are scored again; `root_hash` is that of its events by then."""

    job_id: str
    root_hash: str


class JobRecord(Frozen):
    """The content of job.json."""

    format: Literal["scorehost.job/1"] = "scorehost.job/1"
    job_id: str
    created_at: str
    scorehost: str
    asked: Asked
    dataset: DatasetRecord
    profile: str = Field(description="digest of profiles.yaml as it was read")
    tasks: dict[str, TaskRecord]
    submissions: tuple[SubmissionRecord, ...]
    samples: dict[str, int] = Field(description="how many samples each submission has, over all tasks")
    plan: PlanRecord
    parent: ParentRecord | None = None


def asked(options: RunOptions, submissions: tuple[str, ...]) -> Asked:
    """What `options` asks, with absolute paths, so that a resume from another folder finds them.

    `submissions` are the words of `--submission` with absolute paths.
    """

    def absolute(path: Path | None) -> str | None:
        return None if path is None else str(path.absolute())

    return Asked(
        dataset=str(options.dataset.absolute()),
        tasks=options.tasks,
        tags=options.tags,
        limit=options.limit,
        submissions=submissions,
        submissions_dir=absolute(options.submissions_dir),
        predictions=absolute(options.predictions),
        repeat=options.repeat,
        profiles=absolute(options.profiles),
        parameters=dict(options.parameters),
        gold=absolute(options.gold),
        name=options.name,
        samples=options.samples,
        parent=absolute(options.parent),
        changed=options.changed,
        staged=absolute(options.staged),
    )


def dataset_record(dataset: Dataset, key: GoldKey) -> DatasetRecord:
    """Which dataset it is; its gold is bound under `key`."""
    return DatasetRecord(
        root=str(dataset.root.absolute()),
        dataset_id=dataset.dataset_id,
        version=dataset.version,
        layout=dataset.layout,
        gold_key=key.id,
    )


def task_record(task: Task, key: GoldKey, *, first: bool = False) -> TaskRecord:
    """Digests of one task as it is now, its gold's under `key`. OSError when a file of it has gone.

    `first`: as records without a `gold_key` have them, to hold such a record against; never written.
    """
    run = [*task.run_code.items(), *_beside(task)] if task.run_script is not None else []
    return TaskRecord(
        spec=task_digest(task.spec, first=first),
        code=_files_digest(task.code.items(), first=first),
        gold=_files_digest(task.gold.items(), first=True) if first else key.digest(_gold_files(task)),
        weight=task.spec.weight,
        run=_files_digest(run, first=first) if run else "",
        score_range=task.spec.evaluation.output.score_range,
        metrics=tuple(metric.id for metric in task.spec.evaluation.metrics),
    )


def _beside(task: Task) -> Iterable[tuple[str, Path]]:
    return ((f"data/{path}", file) for path, file in task.data.items())


def file_digest(path: Path | str) -> str:
    """`sha256:` and the hex digest of a file's bytes, read in parts."""
    hasher = hashlib.sha256()
    with open(path, "rb", buffering=0) as stream:  # noqa: PTH123 - also takes plain text paths, 10,000 of them
        while chunk := stream.read(_CHUNK):
            still_wanted()
            hasher.update(chunk)
    return "sha256:" + hasher.hexdigest()


def _files_digest(files: Iterable[tuple[str, Path]], *, first: bool) -> str:
    if first:
        return digest({name: _fingerprint(path) for name, path in files})
    return jcs_digest({escaped(name): _fingerprint(path) for name, path in files})


def _gold_files(task: Task) -> Iterable[GoldFile]:
    for name, path in task.gold.items():
        status = path.stat()
        sha256 = None if status.st_size > HASHED_BYTES else file_digest(path).removeprefix("sha256:")
        yield GoldFile(name, status.st_size, bool(status.st_mode & 0o100), sha256)


def _fingerprint(path: Path) -> str:
    size = os.stat(path).st_size  # noqa: PTH116 - the plain call; there may be tens of thousands
    return f"size:{size}" if size > HASHED_BYTES else file_digest(path)
