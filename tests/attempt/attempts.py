"""Attempts on the real engine whose moments a test can meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scorehost.attempt.resources import Resources
from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.opening import open_engine
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.dataset import Dataset
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import Scored, bench_for, score_one, write_submission, write_task

Meet = Callable[[str], None]  # called with the name of each phase, at its begin


def nothing(_phase: str) -> None:
    """Meets no moment."""


async def scored(
    tmp_path: Path,
    job_id: str,
    evaluator: str,
    files: Mapping[str, bytes | str] | None = None,
    **task: Any,
) -> Scored:
    """One attempt of a task that is written down here."""
    root = write_task(tmp_path / "d", evaluator, **task)
    submission = write_submission(tmp_path / "s", files)
    async with open_engine() as engine:
        return await score_one(engine, root, submission, job_id, tmp_path / "runs")


async def attempt(
    bench: Resources, folder: Path, submission: Path, *, repeat: int = 1, meet: Meet = nothing
) -> Scored:
    """One attempt on an open bench; `folder` is the job's."""
    (task,) = bench.dataset.tasks.values()
    key = AttemptKey(task_id=task.task_id, submission="s", repeat=repeat)
    place = folder / "attempts" / key.folder
    done = Scored(None, place)  # type: ignore[arg-type]

    def emit(kind: str, fields: Mapping[str, Any]) -> None:
        done.told.append((kind, fields))
        if kind == "phase":
            meet(fields["phase"])

    done.result = await score(bench, Order(key, Work(task, Sample(submission))), place, emit)
    return done


async def met(tmp_path: Path, job_id: str, dataset: Dataset | Path, meet: Meet = nothing) -> Scored:
    """One attempt of the submission `s`, with `meet` called at each phase."""
    found = load_dataset(dataset) if isinstance(dataset, Path) else dataset
    async with open_engine() as engine, bench_for(engine, found, job_id, tmp_path / "runs") as bench:
        return await attempt(bench, tmp_path / "runs" / job_id, tmp_path / "s", meet=meet)
