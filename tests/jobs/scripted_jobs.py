"""A dataset made of nothing but models, and a score function that does what a test says."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel

from given import given
from scorehost.aio.aside import aside
from scorehost.files.atomic import make_folder, write_atomic
from scorehost.jobs.checks import asked_before
from scorehost.jobs.kind import Sitting
from scorehost.jobs.plan import Desk, Plan
from scorehost.jobs.run import run_job
from scorehost.jobs.running import Running
from scorehost.model.failure import Phase, failure
from scorehost.model.json import dump
from scorehost.model.result import Digests, Result, ScoringDigests, Versions, axes, result_bytes
from scorehost.runs.folder import find_job
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import Chosen, choose
from scorehost.scoring.kind import ScoreKind
from scorehost.scoring.planning import plan_score
from scorehost.spec.dataset import Dataset, Task
from scorehost.spec.profiles import Profiles
from scorehost.spec.task import Artifact, Evaluation, Metric, Output, TaskSpec


def make_task(
    root: Path,
    task_id: str,
    *,
    tags=(),
    weight=1.0,
    score_range=(0.0, 1.0),
    direction="maximize",
    verdict="pass_fail",
    metrics=(),
    source_id=None,
    solution=True,
    wrong=(),
    artifacts=(("answer", "artifacts/answer.txt"),),
) -> Task:
    folder = root / "tasks" / task_id
    folder.mkdir(parents=True, exist_ok=True)
    evaluator = folder / "evaluator.py"
    evaluator.write_text(f"# {task_id}\n")
    spec = TaskSpec(
        task_id=task_id,
        tags=tuple(tags),
        weight=weight,
        metadata={} if source_id is None else {"source_id": source_id},
        artifacts=tuple(
            Artifact(id=name, path=path, kind="tree" if path.endswith("/") else "file")
            for name, path in artifacts
        ),
        evaluation=Evaluation(
            output=Output(score_range=score_range, direction=direction, verdict=verdict),
            metrics=tuple(Metric(id=name, aggregate=aggregate) for name, aggregate in metrics),
        ),
    )
    return Task(
        spec=spec,
        folder=folder,
        gold={},
        code={"evaluator.py": evaluator},
        solution=folder / "solution" if solution else None,
        wrong={name: folder / "solution-wrong" / name for name in wrong},
    )


def make_dataset(root: Path, *tasks: Task) -> Dataset:
    return Dataset(
        root=root,
        dataset_id="demo",
        version="1",
        profiles=Profiles(concurrency=1),
        profiles_path=root / "profiles.yaml",
        tasks={task.task_id: task for task in sorted(tasks, key=lambda task: task.task_id)},
    )


def some_tasks(root: Path, *names: str, **options) -> Dataset:
    return make_dataset(root, *(make_task(root, name, **options) for name in names))


def scoring_digests(**changes) -> ScoringDigests:
    values = {"task": "t", "evaluator": "e", "gold": "g", "images": {}, "limits": "l", "sdk": "s"}
    return ScoringDigests(**{**values, **changes})


def make_result(
    order,
    job_id="",
    status="PASS",
    *,
    score=None,
    kind=None,
    phase=Phase.EVALUATE,
    metrics=None,
    digests=None,
    warnings=(),
    role=None,
    agents=None,
) -> Result:
    if kind is not None:
        status = "ERROR"
    elif score is None:
        score = 1.0 if status == "PASS" else 0.0
    error = None if kind is None else failure(phase, kind, f"{kind} happened", role=role)
    infrastructure, evaluation = axes(status, error)
    return Result(
        job_id=job_id,
        task_id=order.key.task_id,
        submission=order.key.submission,
        sample=order.key.sample,
        repeat=order.key.repeat,
        try_number=order.number,
        status=status,
        infrastructure=infrastructure,
        evaluation=evaluation,
        score=score if kind is None else None,
        metrics=metrics or {},
        error=error,
        warnings=tuple(warnings),
        started_at="2026-11-30T07:45:12.000Z",
        finished_at="2026-11-30T07:45:13.500Z",
        timing={"evaluate": 1.0},
        hosts=(),
        digests=Digests(scoring=digests, submission=None, operational={}),
        agents={} if agents is None else agents,
        versions=Versions(scorehost="0", engine="0", kernel="0", runtime="runc", architecture="x"),
    )


def publish(folder: Path, result: Result, checks=(), files=None) -> None:
    """An attempt's folder, whole by rename, as the attempt layer makes it."""
    staging = folder.parent / f".{folder.name}.new"
    make_folder(staging / "evaluation")
    write_atomic(staging / "result.json", result_bytes(result))
    rows = {"format": "scorehost.checks/1", "checks": list(checks)}
    write_atomic(staging / "evaluation" / "checks.json", dump(rows))
    for path, text in (files or {}).items():
        make_folder((staging / path).parent)
        write_atomic(staging / path, text.encode())
    write_atomic(staging / "manifest.json", dump({"files": []}))
    staging.rename(folder)


class Script:
    """Scores by `verdict(order)`, which gives keywords of `make_result` (`checks`, `files` too) or raises."""

    def __init__(self, verdict=lambda _order: {}, *, pause=0.0) -> None:
        self.verdict = verdict
        self.pause = pause
        self.orders = []
        self.running = 0
        self.most = 0

    async def __call__(self, order, folder, emit):
        self.orders.append(order)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            emit("phase", {"phase": "evaluate"})
            await anyio.sleep(self.pause)
            given = self.verdict(order)
            given = dict(await given if hasattr(given, "__await__") else given)
            checks, files = given.pop("checks", ()), given.pop("files", None)
            result = make_result(order, folder.parents[3].name, **given)
            publish(folder, result, checks, files)
            return result
        finally:
            self.running -= 1

    @property
    def keys(self) -> list[str]:
        return [str(order.key) for order in self.orders]


class FakeClock:
    """Time that passes only when someone sleeps: it goes on to the earliest moment that anyone waits for.

    While the job's disk is at work it stands.
    """

    writer = None

    def __init__(self) -> None:
        self.time = 0.0
        self._due = []
        self._quiet = 0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        due = self.time + max(seconds, 0.0)
        self._due.append(due)
        self._quiet = 0
        try:
            while self.time < due:
                await anyio.lowlevel.checkpoint()
                if min(self._due) == due:
                    self._quiet = 0 if self.writer and self.writer.busy else self._quiet + 1
                    if self._quiet > 50:  # whoever was woken had its turn
                        self.time, self._quiet = due, 0
        finally:
            self._due.remove(due)


async def answering() -> None:
    """An engine that answers."""


def asked_and_running(root: Path, dataset: Dataset, **options) -> tuple[ScoreAsked, Running]:
    """What is asked and how it runs, from options by name; jobs go to `root`/runs."""
    return given(**{"dataset": dataset.root, "out": root / "runs", **options})


def planned(dataset: Dataset, staging: Path, **options) -> tuple[Plan, list[str]]:
    """The plan of a score job, and its warnings."""
    warnings: list[str] = []
    asked, _ = asked_and_running(staging, dataset, **options)
    return plan_score(choose(asked, dataset), Desk(staging, warnings.append)), warnings


class ScriptedSitting(Sitting):
    """A score job without an engine: real plans, and a script in place of hosts."""

    def __init__(
        self, chosen: Chosen, running: Running, script, *, ping=answering, images=None, clock=None
    ) -> None:
        self.chosen, self.running, self.script = chosen, running, script
        self.pinged, self.images, self.clock = ping, images, clock
        profile = chosen.dataset.profiles.concurrency
        self.concurrency = running.concurrency or (4 if profile == "auto" else profile)

    async def plan(self, desk):
        allowed = self.running.allow_shared_host
        return await aside(
            lambda: plan_score(self.chosen, desk, images=self.images, allow_shared_host=allowed)
        )

    @asynccontextmanager
    async def open(self, _plan, place):
        if isinstance(self.clock, FakeClock):
            self.clock.writer = place.writer
        yield self.script

    async def ping(self) -> None:
        await self.pinged()


def run(
    root: Path,
    dataset: Dataset,
    script=None,
    *,
    stop=None,
    ping=answering,
    clock=None,
    watch=None,
    images=None,
    **options,
):
    """One score job, start to end; `options` are those of ScoreAsked and Running."""
    asked, running = asked_and_running(root, dataset, **options)
    kind = ScoreKind(None)
    if running.resume is not None:
        record = find_job(running.out, running.resume).read_record()
        asked = asked_before(kind, record, replace(asked, dataset=options.get("dataset", Path())))
    sitting = ScriptedSitting(
        choose(asked, dataset), running, script or Script(), ping=ping, images=images, clock=clock
    )
    events = watch if watch is not None else []

    async def main():
        return await run_job(kind, sitting, running, events.append, stop=stop or anyio.Event(), clock=clock)

    return anyio.run(main)
