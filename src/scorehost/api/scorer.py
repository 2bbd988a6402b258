"""Verdicts in a loop: a dataset held open with hosts ready, for training rewards and other harnesses."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio
import structlog
from anyio.abc import TaskGroup

from scorehost.aio.threads import in_thread
from scorehost.api.handing_in import laid_out, sample_of
from scorehost.attempt.fitting import never_fit
from scorehost.attempt.resources import Resources
from scorehost.attempt.score import score as score_attempt
from scorehost.attempt.work import Work, WorkOrder
from scorehost.errors import UsageError
from scorehost.files.removal import remove_tree
from scorehost.model.check import CheckRow
from scorehost.model.failure import Failure
from scorehost.model.ids import SUBMISSION_NAME, AttemptKey
from scorehost.model.order import Order
from scorehost.model.result import Result, Status
from scorehost.model.spelling import near
from scorehost.runs.draft import take_back
from scorehost.runs.reader import read_checks
from scorehost.runs.warned import WARNING
from scorehost.spec.dataset import Dataset, Task
from scorehost.submissions.sample import Content, Sample

T = TypeVar("T")
_log = structlog.get_logger(__name__)
FORGET_SECONDS = 600.0  # for contents that no attempt links any more


@dataclass(frozen=True, slots=True)
class Scored:
    """One verdict. `score` is None exactly when `status` is ERROR; then `error` says whose fault that is.

    `folder` is the attempt's folder when the scorer keeps attempts, else None.
    """

    status: Status
    score: float | None
    metrics: Mapping[str, Any]
    checks: tuple[CheckRow, ...]
    error: Failure | None
    result: Result
    folder: Path | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, cut or taken instead in this attempt, a sentence each."""
        return self.result.warnings


@dataclass(slots=True)
class _Running:
    """One call of `score`: its attempt has a task of its own.

    A caller's task may be cancelled by asyncio alone, which no shield of anyio holds off: then the attempt
    must still take its hosts away in peace.
    """

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    scored: Scored | None = None
    error: Exception | None = None


class Scoring(Protocol):
    """Scores one submission, as `Scorer.score` says."""

    def __call__(
        self, task_id: str, files: Mapping[str, Content] | Path, *, name: str = "candidate"
    ) -> Coroutine[Any, Any, Scored]:
        """Its outcome, once it is awaited."""


class Scorer:
    """Scores submissions of one dataset, concurrently if it is called so. Made by `open_scorer`.

    It belongs to the event loop in which it was opened; any task of that loop may call it.
    """

    def __init__(
        self, resources: Resources, folder: Path, group: TaskGroup, *, keep: bool, at_a_time: int
    ) -> None:
        self._resources = resources
        self._group = group
        self._folder = folder
        self._keep = keep
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self._turns = anyio.CapacityLimiter(at_a_time)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, WorkOrder] = {}
        self._last: WorkOrder | None = None
        self._fit: set[str] = set()
        self._closed = False
        self._swept = time.monotonic()

    @property
    def dataset(self) -> Dataset:
        """The dataset as it was when the scorer was opened."""
        return self._resources.dataset

    @property
    def score(self) -> Scoring:
        """`await scorer.score(task_id, files, name="candidate")` scores one submission of one task.

        Not in a process that was forked from that of the scorer, where its event loop does not run:
        UsageError at once, be it reached through a portal, which would wait for ever. What it takes and
        gives: `_score`.
        """
        if os.getpid() != self._pid:
            raise UsageError(
                "The scorer belongs to the process that opened it, and this one was forked from it.",
                hint="Open a scorer here, or send what is to be scored to that process.",
            )
        return self._score

    async def _score(
        self, task_id: str, files: Mapping[str, Content] | Path, *, name: str = "candidate"
    ) -> Scored:
        """Scores one submission of one task.

        `files` maps an artifact's id, or a path below a declared artifact, to its content (text as UTF-8,
        bytes, or the path of a file to copy); or it is a folder with the artifacts at their declared paths.
        What waits for its turn waits in order. Raises UsageError for an unknown task, artifact or name, for
        contents that cannot be handed in, for a task that this engine or a scorer cannot score, and when the
        scorer is closed, also while this call runs; DiskFull. Every failure of the attempt itself is a
        `Scored` of status ERROR. May be cancelled: nothing of the attempt is left then.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise UsageError(
                "The scorer belongs to another event loop.",
                hint="Open it in the loop that calls it; from threads use a portal (docs/python-api.md).",
            )
        if self._closed:
            raise UsageError("The scorer is closed.", hint="Score inside the block of open_scorer.")
        task = self._task(task_id)
        if not SUBMISSION_NAME.fullmatch(name) or not name.strip("."):
            raise UsageError(
                f"{name!r} is no name of a submission.", hint="Use letters, digits, '.', '_', '-'."
            )
        sample = sample_of(task.spec.artifacts, files)
        running = _Running()
        self._group.start_soon(self._run, running, task, sample, name)
        try:
            await running.ended.wait()
        except BaseException:
            running.scope.cancel()
            with anyio.CancelScope(shield=True):
                await running.ended.wait()
            if running.scored is not None and running.scored.folder is not None:
                kept = running.scored.folder  # it was shown in the very moment of the cancel
                await self._settled(lambda: take_back(kept))
            raise
        if running.error is not None:
            raise running.error
        if running.scored is None:
            raise UsageError(
                "The scorer was closed while this was scored.",
                hint="Wait for every score inside the block of open_scorer.",
            )
        return running.scored

    def close(self) -> None:
        """Breaks off what still runs and takes no more. `open_scorer` does this at the end of its block."""
        self._closed = True
        self._group.cancel_scope.cancel()

    def upcoming(self, count: int) -> list[WorkOrder]:
        """What is expected next: what waits for its turn, then more of the task that was asked for last."""
        known = list(itertools.islice(self._waiting.values(), count))
        return known if self._last is None else known + [self._last] * (count - len(known))

    def _task(self, task_id: str) -> Task:
        task = self.dataset.tasks.get(task_id)
        if task is None:
            raise UsageError(f"There is no task {task_id!r}.", hint=near(task_id, self.dataset.tasks))
        if task_id not in self._fit:
            if misfits := never_fit([task], self.dataset, self._resources.info):
                raise UsageError(misfits[0].text, hint=misfits[0].hint)
            if asked := _asked_while_scored(task, self.dataset):
                raise UsageError(
                    f"The evaluator of {task_id} asks agents ({', '.join(asked)}), and a scorer plays none.",
                    hint="Score it by a job: scorehost.api.run, or `scorehost run`.",
                )
            self._fit.add(task_id)
        return task

    async def _run(self, running: _Running, task: Task, sample: Sample, name: str) -> None:
        try:
            with running.scope:
                running.scored = await self._scored(task, sample, name)
        except Exception as error:  # noqa: BLE001 - it is the caller's, and must not end everybody else's
            running.error = error
        finally:
            running.ended.set()

    async def _scored(self, task: Task, sample: Sample, name: str) -> Scored:
        number = next(self._numbers)
        key = AttemptKey(task_id=task.task_id, submission=name, sample=number)
        self._last = self._waiting[number] = Order(key, Work(task, Sample()))
        try:
            await self._turns.acquire_on_behalf_of(number)
        finally:
            del self._waiting[number]
        try:
            target = self._folder / "attempts" / key.folder
            with ExitStack() as files:
                there = await self._settled(lambda: files.enter_context(laid_out(sample, self._folder)))
                try:
                    order = Order(key, Work(task, there))
                    result = await score_attempt(self._resources, order, target, _logged)
                finally:
                    await self._settled(files.close)
            return await self._settled(lambda: self._taken(result, target))
        finally:
            self._turns.release_on_behalf_of(number)

    async def _settled(self, call: Callable[[], T]) -> T:
        """In a thread, and to its end: what it writes or removes must not be half done."""
        with anyio.CancelScope(shield=True):
            done = await in_thread(call, self._resources.files)
        return done  # noqa: RET504 - returned from inside, mypy sees a scope that may swallow

    def _taken(self, result: Result, folder: Path) -> Scored:
        checks = read_checks(folder)
        if not self._keep:
            remove_tree(folder)
            self._forget()
        return Scored(
            status=result.status,
            score=result.score,
            metrics=result.metrics,
            checks=checks,
            error=result.error,
            result=result,
            folder=folder if self._keep else None,
        )

    def _forget(self) -> None:
        """Removes contents that no attempt links any more, now and then."""
        if time.monotonic() - self._swept < FORGET_SECONDS:
            return
        self._swept = time.monotonic()
        self._resources.blobs.forget(FORGET_SECONDS)


def _asked_while_scored(task: Task, dataset: Dataset) -> list[str]:
    """The bound roles of the task that its evaluator may ask: not those that play in the run phase only."""
    bound = dataset.profiles.agent_profiles
    names = [role.id for role in task.spec.agent_profiles]
    return [name for name in names if name in bound and "evaluate" in bound[name].phases]


def _logged(kind: str, fields: Mapping[str, Any]) -> None:
    """Nobody watches the events of a scorer; what one warns of goes to the log."""
    if kind == WARNING:
        _log.warning(str(fields.get("text")))
