"""One invocation of a score job: its dataset read, its engine open, its attempts planned and scored."""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from scorehost.aio.aside import aside
from scorehost.attempt.fitting import limits_of, never_fit, room_for
from scorehost.attempt.images_now import images_now
from scorehost.attempt.job_agents import job_agents
from scorehost.attempt.pins import pins_now
from scorehost.attempt.resources import open_resources
from scorehost.attempt.score import score as score_attempt
from scorehost.attempt.work import Work
from scorehost.errors import UsageError
from scorehost.jobs.kind import Sitting
from scorehost.scoring.choosing import Chosen, choose
from scorehost.scoring.locking import check_locked, read_lock
from scorehost.scoring.planning import plan_score

# An engine that has just started on a busy machine seems to hang, and answers after seconds.
# Whoever interrupts a job waits less: the engine is given up then.
LEFTOVERS_SECONDS = 15.0  # in which what a job left is asked for again

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

    from scorehost.calls.shares import Shares
    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.plan import Desk, Plan
    from scorehost.jobs.running import Running
    from scorehost.jobs.scoring import Emit, JobPlace, Score
    from scorehost.model.order import Order
    from scorehost.model.result import Result
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.scoring.rescore.plan import Images


@dataclass(slots=True)
class ScoreSitting(Sitting[Work]):
    """What the attempts of one invocation share from its first check to its last clean-up."""

    chosen: Chosen
    running: Running
    engine: Engine
    say: Callable[[str], None]
    concurrency: int

    async def plan(self, desk: Desk) -> Plan[Work]:
        """Reading, unpacking and hashing happen in a thread, which a cancel ends."""
        images = await self._images()
        allowed = self.running.allow_shared_host
        return await aside(
            functools.partial(plan_score, self.chosen, desk, images=images, allow_shared_host=allowed)
        )

    async def _images(self) -> Images | None:
        """What a rescore of changes has to know of images; None for all other jobs."""
        if not self.chosen.asked.changed:
            return None
        files = anyio.CapacityLimiter(1)
        profiles = self.chosen.dataset.profiles
        return {
            task.task_id: await images_now(self.engine, task, profiles, files=files)
            for task in self.chosen.tasks
        }

    @asynccontextmanager
    async def open(self, plan: Plan[Work], place: JobPlace) -> AsyncIterator[Score[Work]]:
        """The roles of the chosen tasks bound, hosts ready ahead of need."""
        dataset, running = self.chosen.dataset, self.running
        async with AsyncExitStack() as stack:
            agents = await stack.enter_async_context(
                job_agents(
                    dataset,
                    self.chosen.tasks,
                    place.folder.parent,
                    spent=place.calls,
                    note=lambda kind, fields: place.notes.append((kind, fields)),
                    max_calls=running.max_calls,
                    max_tokens=running.max_tokens,
                    attempts=(order.key for order in plan.orders),
                )
            )
            resources = await stack.enter_async_context(
                open_resources(
                    self.engine,
                    dataset,
                    job_id=place.job_id,
                    folder=place.folder,
                    say=self.say,
                    upcoming=place.upcoming,
                    agents=agents,
                    keep=running.keep,
                    writer=place.writer,
                    allow_unenforced=running.allow_unenforced,
                    patience=LEFTOVERS_SECONDS,
                )
            )
            scoring = functools.partial(score_attempt, resources)
            shares = None if agents is None else agents.shares
            yield scoring if shares is None else _sharing(scoring, shares, place.finished)

    async def ping(self) -> None:
        """Asks the engine for an answer."""
        await self.engine.info()

    def give_up(self) -> None:
        """Breaks off every call of an engine that hangs."""
        self.engine.give_up()


def _sharing(scoring: Score[Work], shares: Shares, finished: Iterable[str]) -> Score[Work]:
    """The same; what an attempt that is over leaves of its submission's calls and tokens, others may have."""
    for key in finished:
        shares.finished(key.split("/")[1], [key])

    async def scored(order: Order[Work], folder: Path, emit: Emit) -> Result:
        name, key = order.key.submission, str(order.key)
        shares.begun(name, key)
        try:
            return await scoring(order, folder, emit)
        finally:
            shares.finished(name, [key])

    return scored


@asynccontextmanager
async def open_sitting(
    asked: ScoreAsked,
    chosen: Chosen | None,
    running: Running,
    say: Callable[[str], None],
    open_engine: OpenEngine,
) -> AsyncIterator[ScoreSitting]:
    """Reads the dataset where nobody has, then opens the engine that its profiles name.

    Raises SpecError, UsageError (also for what this engine cannot do), EngineError.
    """
    if chosen is None:
        chosen = await aside(functools.partial(choose, asked, resumed=running.resume is not None))
    async with open_engine(chosen.dataset.profiles.engine.host) as engine:
        info = await engine.info()
        concurrency = _fitted(chosen, running, info)
        for finding in limits_of(info):  # none, or they are allowed
            say(f"{finding.text}; attempts run all the same (--allow-unenforced)")
        if running.locked:
            dataset, tasks = chosen.dataset, {task.task_id: task for task in chosen.tasks}
            pins = await pins_now(engine, tasks.values(), dataset.profiles)
            check_locked(read_lock(dataset.root), dataset, tasks, pins)
        yield ScoreSitting(chosen, running, engine, say, concurrency)


def _fitted(chosen: Chosen, running: Running, info: EngineInfo) -> int:
    """Attempts at a time, as asked or as suits the engine; UsageError for what this engine cannot do."""
    unenforced = limits_of(info)
    if unenforced and not running.allow_unenforced:
        raise UsageError("\n".join(finding.text for finding in unenforced), hint=unenforced[0].hint)
    misfits = never_fit(chosen.tasks, chosen.dataset, info)
    if misfits:
        raise UsageError("\n".join(finding.text for finding in misfits), hint=misfits[0].hint)
    profile = chosen.dataset.profiles.concurrency
    if running.concurrency is not None:
        return running.concurrency
    return room_for(chosen.tasks, chosen.dataset, info) if profile == "auto" else profile
