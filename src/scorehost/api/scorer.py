"""Verdicts in a loop: a dataset held open with hosts ready, for training rewards and other harnesses."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from scorehost.api.opener import OpenEngine
from scorehost.api.probing import room_for
from scorehost.attempt.atomic import make_folder
from scorehost.attempt.bench import Bench, open_bench
from scorehost.attempt.folder import read_checks
from scorehost.attempt.order import Order, Source
from scorehost.attempt.score import score as score_attempt
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.model.check import CheckRow
from scorehost.model.failure import Failure
from scorehost.model.ids import SUBMISSION_NAME, AttemptKey, new_job_id
from scorehost.model.result import Result, Status
from scorehost.spec.dataset import Dataset
from scorehost.spec.loading import load_dataset

Content = str | bytes | Path
FORGET_SECONDS = (
    600.0  # contents that nothing links are younger than this only while an attempt takes them in
)


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


class Scorer:
    """Scores submissions of one dataset, concurrently if it is called so. Made by `open_scorer`."""

    def __init__(self, bench: Bench, folder: Path, *, keep: bool, at_a_time: int) -> None:
        self._bench = bench
        self._folder = folder
        self._keep = keep
        self._turns = anyio.CapacityLimiter(at_a_time)
        self._numbers = itertools.count(1)
        self._last: Order | None = None
        self._swept = time.monotonic()

    @property
    def dataset(self) -> Dataset:
        """The dataset as it was when the scorer was opened."""
        return self._bench.dataset

    async def score(
        self, task_id: str, files: Mapping[str, Content] | Path, *, name: str = "candidate"
    ) -> Scored:
        """Scores one submission of one task.

        `files` maps an artifact's id, or a path below a declared artifact, to its content (text as UTF-8,
        bytes, or the path of a file to copy); or it is a folder with the artifacts at their declared paths.
        Raises UsageError for an unknown task, artifact or name, DiskFull; every failure of the attempt itself
        is a `Scored` of status ERROR. May be cancelled: nothing of the attempt is left then.
        """
        task = self.dataset.tasks.get(task_id)
        if task is None:
            known = ", ".join(list(self.dataset.tasks)[:10])
            raise UsageError(f"There is no task {task_id!r}.", hint=f"There are: {known}")
        if not SUBMISSION_NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} is no name of a submission.", hint="Use letters, digits, '.', '_', '-'."
            )
        number = next(self._numbers)
        async with AsyncExitStack() as stack:
            if isinstance(files, Path):
                folder = files
            else:
                draft = stack.enter_context(TemporaryDirectory(prefix="hand-in-", dir=self._folder))
                folder = Path(draft)
                _write(folder, {a.id: a.path for a in task.spec.artifacts}, files)
            key = AttemptKey(task_id=task_id, submission=name, sample=number)
            order = self._last = Order(key, task, Source(folder))
            await stack.enter_async_context(self._turns)
            target = self._folder / "attempts" / key.folder
            result = await score_attempt(self._bench, order, target, _untold)
        return self._taken(result, target)

    def upcoming(self, count: int) -> list[Order]:
        """What is expected next: more of the task that was asked for last."""
        return [] if self._last is None else [self._last] * count

    def _taken(self, result: Result, folder: Path) -> Scored:
        checks = read_checks(folder)
        if not self._keep:
            shutil.rmtree(folder)
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
        self._swept, now = time.monotonic(), time.time()
        for folder, _, names in os.walk(self._folder.parent / ".blobs"):
            for name in names:
                status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - one of very many
                if status.st_nlink == 1 and now - status.st_mtime > FORGET_SECONDS:
                    os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118


@asynccontextmanager
async def open_scorer(
    dataset: Path | str,
    *,
    profiles: Path | None = None,
    gold: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
    keep: Path | None = None,
    at_a_time: int | None = None,
    engine: OpenEngine = open_engine,
) -> AsyncIterator[Scorer]:
    """A scorer on a dataset, whose hosts are all removed at the end of the block.

    `keep` is a runs folder in which every attempt stays; without it attempts are removed once they are
    read. `at_a_time` bounds how many run side by side; None lets the engine's cores and memory decide. The
    profile's `evaluate_host.warm` says how many hosts wait for each that runs. Raises SpecError, UsageError,
    EngineError.
    """
    found = load_dataset(Path(dataset), profiles=profiles, gold=gold, parameters=parameters)
    async with AsyncExitStack() as stack:
        runs = keep or Path(stack.enter_context(TemporaryDirectory(prefix="scorehost-scorer-")))
        folder = runs / new_job_id()
        make_folder(folder)
        opened = await stack.enter_async_context(engine(found.profiles.engine.host))
        holder: list[Scorer] = []
        bench = await stack.enter_async_context(
            open_bench(
                opened,
                found,
                job_id=folder.name,
                folder=folder,
                upcoming=lambda count: holder[0].upcoming(count) if holder else [],
            )
        )
        room = at_a_time or room_for(found.tasks.values(), found, bench.info)
        holder.append(Scorer(bench, folder, keep=keep is not None, at_a_time=room))
        yield holder[0]


def _write(folder: Path, artifacts: Mapping[str, str], files: Mapping[str, Content]) -> None:
    """Writes the files of a hand-in by artifact id or path; UsageError for what the task does not declare."""
    for word, content in files.items():
        path = artifacts.get(word, word)
        if not any(path == known or path.startswith(f"{known}/") for known in artifacts.values()):
            declared = ", ".join(artifacts)
            raise UsageError(
                f"{word!r} is no artifact of the task, and below none.", hint=f"There are: {declared}"
            )
        target = folder / path
        if ".." in target.parts:
            raise UsageError(f"{word!r} leads out of the submission.", hint="Name a path below the artifact.")
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)


def _untold(_kind: str, _fields: Mapping[str, Any]) -> None:
    return
