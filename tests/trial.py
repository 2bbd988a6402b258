"""Scores small tasks that a test writes down in a few lines, on the real engine."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scorehost.attempt.resources import Resources, open_resources
from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.door import Engine
from scorehost.model.ids import AttemptKey
from scorehost.model.json import parse
from scorehost.model.order import Order
from scorehost.model.result import Result
from scorehost.spec.dataset import Dataset
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample

IMAGE = "scorehost/python:3"


@dataclass(slots=True)
class Scored:
    """One attempt's end: its result, its folder, and the phases and lines that it told."""

    result: Result
    folder: Path
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def kind(self) -> str | None:
        """The failure's kind, None when there is a verdict."""
        return None if self.result.error is None else self.result.error.kind

    @property
    def log(self) -> bytes:
        """What the evaluator printed."""
        path = self.folder / "logs" / "evaluator.log"
        return path.read_bytes() if path.exists() else b""

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The rows of checks.json."""
        data = (self.folder / "evaluation" / "checks.json").read_bytes()
        rows: list[dict[str, Any]] = parse(data, max_bytes=1 << 26)["checks"]
        return rows


def write_task(
    root: Path, evaluator: str, *, task_id: str = "t", gold: Mapping[str, bytes] | None = None, **spec: Any
) -> Path:
    """Writes a dataset of one task below `root`, which it gives back; `spec` are more keys of task.yaml."""
    folder = root / "tasks" / task_id
    folder.mkdir(parents=True)
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: d\nversion: '1'\n")
    (root / "profiles.yaml").write_text("format: scorehost.profiles/1\nenvironment: docker\n")
    document = {
        "format": "scorehost.task/1",
        "task_id": task_id,
        "description": "a test's task",
        "artifacts": {"publishable": [{"id": "answer", "path": "artifacts/answer.txt"}]},
        **spec,
    }
    (folder / "task.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    (folder / "evaluator.py").write_text(textwrap.dedent(evaluator))
    for path, data in (gold or {"gold.txt": b"gold"}).items():
        target = folder / "evaluation" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def write_submission(root: Path, files: Mapping[str, bytes | str] | None = None) -> Path:
    """Writes a submission's files, by declared path; one right `artifacts/answer.txt` when none are given."""
    for path, data in (files if files is not None else {"artifacts/answer.txt": "42"}).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
    root.mkdir(parents=True, exist_ok=True)
    return root


@asynccontextmanager
async def bench_for(
    engine: Engine, dataset: Dataset, job_id: str, runs: Path, say: Callable[[str], None] | None = None
) -> AsyncIterator[Resources]:
    """A bench whose job folder lies below `runs`."""
    folder = runs / job_id
    folder.mkdir(parents=True, exist_ok=True)
    say = say or (lambda _: None)
    async with open_resources(engine, dataset, job_id=job_id, folder=folder, say=say) as bench:
        yield bench


async def score_one(
    engine: Engine,
    dataset_root: Path,
    submission: Path | None,
    job_id: str,
    runs: Path,
    *,
    name: str = "s",
) -> Scored:
    """Scores one submission of a dataset's only task, in a job of its own."""
    dataset = load_dataset(dataset_root)
    (task,) = dataset.tasks.values()
    key = AttemptKey(task_id=task.task_id, submission=name)
    told: list[tuple[str, Mapping[str, Any]]] = []
    async with bench_for(engine, dataset, job_id, runs) as bench:
        folder = runs / job_id / "attempts" / key.folder
        result = await score(
            bench,
            Order(key, Work(task, Sample(submission))),
            folder,
            lambda kind, fields: told.append((kind, fields)),
        )
    return Scored(result, folder, told)
