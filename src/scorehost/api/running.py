"""Jobs on the real engine: what is asked, the engine that it needs, and the way out on a signal."""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio

from scorehost.aio.groups import task_group
from scorehost.api.agents import job_agents
from scorehost.api.diagnosis import limits_of
from scorehost.api.probing import never_fit, room_for
from scorehost.api.signals import stop_on_signals
from scorehost.attempt.images_now import images_now
from scorehost.attempt.pins import pins_now
from scorehost.attempt.resources import open_resources
from scorehost.attempt.score import score as score_attempt
from scorehost.engine.opening import open_engine
from scorehost.errors import Interrupted, UsageError
from scorehost.jobs.options import RunOptions
from scorehost.jobs.outcome import JobEvent, JobOutcome, Watch
from scorehost.jobs.resume import resumed_options
from scorehost.jobs.run import run_job
from scorehost.jobs.select import selected_tasks
from scorehost.model.ids import SUBMISSION_NAME
from scorehost.scoring.locking import check_locked, read_lock
from scorehost.spec.loading import load_dataset, load_either, load_task_dir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from scorehost.api.opener import OpenEngine
    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.jobs.scoring import JobPlace, Score
    from scorehost.scoring.rescore.plan import Images
    from scorehost.spec.dataset import Dataset

GRACE_SECONDS = 10.0  # for a job to end by itself
LAST_SECONDS = 3.0  # then for its clean-up, if the engine still answers: all together below 15 s
_WORDS = ("solution", "empty", "run")
_SLOW = ("pulling", "building")  # how the images layer begins what it says


async def run(
    options: RunOptions,
    watch: Watch,
    stop: anyio.Event | None = None,
    *,
    engine: OpenEngine = open_engine,
) -> JobOutcome:
    """Runs one job to its end and tells `watch` of every step.

    `stop`, when set, ends the job within 15 s with what is finished. In the main thread SIGINT and SIGTERM
    set it; a second one ends the process. Raises InputError (SpecError, UsageError) for what was asked
    wrongly, EngineError when the engine cannot be used; then nothing was scored.
    """
    if options.dry_run:
        raise UsageError("A dry run makes no job.", hint="Call plan() with the same options.")
    asked = resumed_options(options)
    load = load_dataset if options.resume is None else load_either
    dataset = load(asked.dataset, profiles=asked.profiles, gold=asked.gold)
    return await on_engine(options, asked, dataset, watch=watch, stop=stop, open_one=engine)


async def score(
    task_dir: Path,
    path: str,
    watch: Watch,
    *,
    parameters: Mapping[str, Any] | None = None,
    out: Path = Path("runs"),
    allow_unenforced: bool = False,
    private: bool = False,
    keep: Literal["error", "always"] | None = None,
    engine: OpenEngine = open_engine,
) -> JobOutcome:
    """Scores one submission of one task, as a job of one attempt below `out`.

    `path` is a folder with the artifacts at their declared paths, an archive of one, or `solution`, `empty`,
    `wrong:NAME`. `keep` lets the attempt's hosts stay on the engine for a look. Raises as `run` does.
    """
    dataset = load_task_dir(task_dir)
    options = RunOptions(
        dataset=dataset.root,
        tasks=tuple(dataset.tasks),
        submissions=(submission_word(path),),
        parameters=dict(parameters or {}),
        out=out,
        allow_unenforced=allow_unenforced,
        private=private,
        keep=keep,
    )
    return await on_engine(options, options, dataset, watch=watch, stop=None, open_one=engine)


def submission_word(path: str) -> str:
    """`path` as `--submission` takes it: a reserved word as it is, a folder with a name that is allowed."""
    place = Path(path)
    if not place.exists() and (path in _WORDS or path.startswith("wrong:")):
        return path
    name = place.resolve().name
    usable = SUBMISSION_NAME.fullmatch(name) and name.strip(".") and name not in _WORDS
    return f"{name if usable else 'submission'}={path}"


async def on_engine(
    options: RunOptions,
    asked: RunOptions,
    dataset: Dataset,
    *,
    watch: Watch,
    stop: anyio.Event | None,
    open_one: OpenEngine,
) -> JobOutcome:
    """One job on the engine that the dataset's profiles name; `asked` is what `options` come to. As `run`."""
    stop = stop or anyio.Event()
    job_ids: list[str] = []
    outcome: JobOutcome | None = None
    with stop_on_signals(stop, lambda: job_ids[-1] if job_ids else ""):
        async with task_group() as group:
            way_out = _WayOut(group.cancel_scope)
            group.start_soon(way_out.watch, stop, job_ids)
            async with open_one(dataset.profiles.engine.host) as engine:
                way_out.engine = engine
                options = _fitted(options, asked, dataset, await engine.info())
                if options.locked:
                    tasks = {task.task_id: task for task in selected_tasks(asked, dataset)}
                    pins = await pins_now(engine, tasks.values(), dataset.profiles)
                    check_locked(read_lock(dataset.root), dataset, tasks, pins)

                @asynccontextmanager
                async def scoring(place: JobPlace) -> AsyncIterator[Score]:
                    job_ids.append(place.job_id)
                    say = functools.partial(_say, watch)
                    async with AsyncExitStack() as stack:
                        agents = await stack.enter_async_context(job_agents(options, asked, dataset, place))
                        resources = open_resources(
                            engine,
                            dataset,
                            job_id=place.job_id,
                            folder=place.folder,
                            say=say,
                            upcoming=place.upcoming,
                            agents=agents,
                            keep=options.keep,
                            writer=place.writer,
                        )
                        yield functools.partial(score_attempt, await stack.enter_async_context(resources))

                async def ping() -> None:
                    await engine.info()

                images = await _images(engine, asked, dataset)
                outcome = await run_job(options, dataset, scoring, watch, ping=ping, stop=stop, images=images)
                way_out.ended.set()
            group.cancel_scope.cancel()
    if outcome is None:
        left = (
            f"What is left on the engine goes with `scorehost clean --job {job_ids[-1]}`." if job_ids else ""
        )
        raise Interrupted("Stopped by a signal.", hint=left)
    return outcome


async def _images(engine: Engine, asked: RunOptions, dataset: Dataset) -> Images | None:
    """What a rescore of changes has to know of images; None for all other jobs."""
    if not asked.changed:
        return None
    files = anyio.CapacityLimiter(1)
    tasks = selected_tasks(asked, dataset)
    return {task.task_id: await images_now(engine, task, dataset.profiles, files=files) for task in tasks}


@dataclass(slots=True)
class _WayOut:
    """An engine that hangs must not hold up a person who wants out."""

    scope: anyio.CancelScope
    engine: Engine | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def watch(self, stop: anyio.Event, job_ids: list[str]) -> None:
        """Cancels when `stop` is set: at once before a job begins, afterwards when the job itself is late.

        Clean-ups are shielded from that; they have a moment more, and end when the engine is given up.
        """
        await stop.wait()
        if job_ids:
            await anyio.sleep(GRACE_SECONDS)
        self.scope.cancel()
        with anyio.move_on_after(LAST_SECONDS, shield=True):
            await self.ended.wait()
        if self.engine is not None and not self.ended.is_set():
            self.engine.give_up()


def _say(watch: Watch, text: str) -> None:
    watch(JobEvent("image" if text.startswith(_SLOW) else "warning", fields={"text": text}))


def _fitted(options: RunOptions, asked: RunOptions, dataset: Dataset, info: EngineInfo) -> RunOptions:
    """`options` with a concurrency that suits the engine; UsageError for what this engine cannot do."""
    unenforced = limits_of(info)
    if unenforced and not asked.allow_unenforced:
        raise UsageError("\n".join(finding.text for finding in unenforced), hint=unenforced[0].hint)
    tasks = selected_tasks(asked, dataset)
    misfits = never_fit(tasks, dataset, info)
    if misfits:
        raise UsageError("\n".join(finding.text for finding in misfits), hint=misfits[0].hint)
    if options.concurrency is not None or dataset.profiles.concurrency != "auto":
        return options
    return replace(options, concurrency=room_for(tasks, dataset, info))
