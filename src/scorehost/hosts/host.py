"""One running scoring host: made, fed, started, and always removed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
import structlog

from scorehost.engine.door import ContainerState, Engine, Image, Stream
from scorehost.errors import (
    AttemptFailed,
    Conflict,
    EngineError,
    EngineHangs,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    NotFound,
)
from scorehost.files.tree import ChangedWhileSent, Tree, archive
from scorehost.hosts.blueprint import SHARED_MODE, Blueprint, Users
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.confinement import limits_discarded
from scorehost.hosts.fitness import Looked, Named, look_over
from scorehost.hosts.labels import RECIPE, host_labels
from scorehost.hosts.leaving import Leaving
from scorehost.hosts.memory_watch import MemoryWatch
from scorehost.hosts.usage import Usage, local_peak, read_usage
from scorehost.hosts.working import works
from scorehost.model.blame import Facts, Order, Place, Ran, Trouble, peak_of
from scorehost.model.failure import Phase, failure
from scorehost.model.ids import utc_now
from scorehost.model.limits import MIB
from scorehost.model.result import HostUsage

_log = structlog.get_logger()
CLEANUP_SECONDS = 30.0
UPLOAD_SECONDS = 1800.0
DEFINITIVE = range(400, 500)  # what was asked for is wrong; asking again changes nothing
SETTLE_SECONDS = 1.0  # from the end of a container's output to the engine knowing that it has ended


@dataclass(slots=True)
class Host:
    """A host that exists on the engine. `ended` says why it ended early; empty while it lives."""

    engine: Engine
    blueprint: Blueprint
    image: Image
    users: Users
    container: str
    name: str
    memory: MemoryWatch
    clock: StandingClock | None = None  # the evaluator's, once there is one
    started_at: str = field(default_factory=utc_now)
    execs: int = 0
    opened: int = 0  # processes that run there and that the evaluator keeps open
    printed: int = 0
    ended: str = ""
    told: bool = False  # the evaluator knows that it ended
    usage: Usage = field(default_factory=Usage)
    shared: tuple[str, ...] = ()  # places in memory that all users of the host may write
    served: bool = False  # its work is done and nothing of the evaluation lives: nobody waits for its removal
    greeted: bool = False  # its runner has spoken, and what it runs may be under way
    removed: bool = False  # it was not there any more, and nobody here had removed it
    heard_out: bool = False  # what the engine's events say of its end has come, or been waited for
    hurried: bool = False  # somebody waits for it to be left, and not for what comes of it
    stuck: bool = False  # a kill did not end it, while the engine works: what ran in it clogged it

    @property
    def flooded(self) -> bool:
        """Whether all processes of it together printed more than they may."""
        return self.printed > self.blueprint.limits.output_total_bytes

    @contextmanager
    def asking(self) -> Iterator[None]:
        """The engine is asked inside the block: its lateness is not counted as the evaluator's time."""
        with self.clock.asking() if self.clock is not None else nullcontext():
            yield

    @property
    def ran(self) -> Ran:
        """What has run there so far. In a run phase's container agents are at work, as submitted code is."""
        if self.execs or (self.greeted and self.blueprint.producer):
            return Ran.SUBMITTED
        return Ran.TRUSTED if self.greeted else Ran.NOTHING

    def facts(self, trouble: Trouble, **known: Any) -> Facts:
        """What the table of blame is asked with. `known` goes before what is known here."""
        plan = self.blueprint
        place = Place.RUN if plan.producer else Place.EVALUATOR if plan.evaluator else Place.NAMED
        struck = self.memory.struck(self.container)
        order = Order.OTHERS if struck else Order.OURS if self.ended else Order.NOBODY
        peak = peak_of(self.usage.peak_memory_bytes, plan.limits.memory_mb * MIB)
        found = {"order": order, "peak": peak, "ran": self.ran, **known}
        return Facts(trouble, place, **found)

    async def end(self, why: str) -> None:
        """Kills the container; the first reason stands. Its removal comes with the end of its block.

        When it does not end, and the engine works otherwise, that is the doing of what ran there: it is
        `stuck`, and left behind. Raises EngineError when it is the engine's.
        """
        if not self.ended:
            self.ended = why
            self.usage = await read_usage(self.engine, self.container, self.users.main, running=False)
            self.memory.ours(self.container)
            with self.asking():
                await self._kill()

    async def _kill(self) -> None:
        try:
            await self._told_to_end()
        except (EngineRefused, EngineTimeout) as error:
            if self.ran is Ran.NOTHING or not await works(self.engine, after=error):
                raise
            self.stuck = True
            _log.warning("a host does not end when it is killed", host=self.name, reason=error.message)

    async def _told_to_end(self) -> None:
        """A kill has the short patience of a close. An engine that hung only for a moment is told again."""
        try:
            await self.engine.kill(self.container)
        except EngineHangs:
            if self.hurried or not await works(self.engine):
                raise
            await self.engine.kill(self.container)

    def note_oom(self) -> None:
        """Memory ran out: the peak that was seen then is kept. One that nobody saw stays unknown."""
        peak = self.memory.peak(self.container) or local_peak(self.container)
        known = max(peak or 0, self.usage.peak_memory_bytes or 0)
        self.usage = Usage(known or None, self.usage.cpu_seconds)

    @property
    def image_words(self) -> str:
        """Its image, and the recipe when it was built from one, as a message names it."""
        choice = self.blueprint.image
        if isinstance(choice, str):
            return f"the image {choice}"
        return f"the image that {choice.words} makes"

    async def state(self, seconds: float = SETTLE_SECONDS) -> ContainerState | None:
        """What the engine knows of the container, given `seconds` to see an end; None when it is gone."""
        try:
            with anyio.move_on_after(seconds):
                return await self.engine.wait(self.container)
            return await self.engine.inspect(self.container)
        except NotFound:
            return None

    def report(self) -> HostUsage:
        """The host as result.json shows it."""
        choice = self.blueprint.image
        return HostUsage(
            name=self.blueprint.name,
            image=choice if isinstance(choice, str) else self.image.reference,
            image_id=self.image.id,
            # A label of an image that was only derived from a built one says nothing of it.
            recipe=None if isinstance(choice, str) else self.image.labels.get(RECIPE),
            started_at=self.started_at,
            peak_memory_bytes=self.usage.peak_memory_bytes,
            cpu_seconds=self.usage.cpu_seconds,
            execs=self.execs,
            ended=self.ended or "removed",
        )


class Shelter(Protocol):
    """Takes hosts in place of their removal."""

    def take(self, host: Host) -> None:
        """Has the host from now on; it is not removed by anybody else."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where the hosts of one attempt are built: the same for all of them."""

    engine: Engine
    memory: MemoryWatch
    job: str
    slot: str
    warn: Callable[[str], None]
    timing: Callable[[str, float], None]
    shelter: Shelter | None = None
    starts: anyio.CapacityLimiter | None = None  # how many hosts of all attempts may be starting at a time
    looked: set[Looked] = field(default_factory=set)  # what images were found fit for, all attempts together
    leaving: Leaving | None = None  # removes hosts that have served
    mapped: bool = False  # the engine maps users
    excused: frozenset[str] = frozenset()  # what an engine need not hold or limit (hosts/confinement.py)
    said: set[str] = field(default_factory=set)

    def warn_once(self, text: str) -> None:
        """Warns of what is the same for every host of its name."""
        if text not in self.said:
            self.said.add(text)
            self.warn(text)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Adds the seconds of the block to a phase."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.timing(phase, time.monotonic() - begun)


@asynccontextmanager
async def made_host(
    site: Site,
    blueprint: Blueprint,
    image: Image,
    trees: Mapping[str, Tree],
    *,
    workspace_bytes: int,
    digested: bool = False,
) -> AsyncIterator[Host]:
    """A created, not yet started host, with `trees` uploaded to it when there are any; removed at the end of
    the block, whatever happens. `digested`: its runner will say what has come (see `files.tree.archive`).

    Raises AttemptFailed: start_failed, start_timeout, engine_lost, changed_input.
    """
    users = Users.fresh(blueprint.user, mapped=site.mapped)
    spec = blueprint.container(
        image=image,
        users=users,
        labels=host_labels(job=site.job, slot=site.slot, host=blueprint.name, kept=site.shelter is not None),
        workspace_bytes=workspace_bytes,
    )
    with site.timed("start"), blamed(Phase.START, blueprint):
        said: list[str] = []
        async with in_time(site.engine, blueprint.limits.start_seconds):
            container = await site.engine.create(spec, said=said.append)
    host = Host(site.engine, blueprint, image, users, container, spec.name, site.memory)
    host.shared = tuple(place.target for place in spec.tmpfs if place.mode == SHARED_MODE)
    guarded(host)
    try:
        _heed(site, blueprint, said)
        with site.timed("start"), blamed(Phase.START, blueprint):
            choice = blueprint.image
            named = Named(blueprint.name, host.image_words, "" if isinstance(choice, str) else choice.words)
            await look_over(site.engine, host.container, image, host.shared, site.looked, named=named)
        if trees:
            with site.timed("upload"), blamed(Phase.UPLOAD, blueprint):
                sent = archive(trees.items(), blueprint.links, digested=digested)
                async with in_time(site.engine, UPLOAD_SECONDS):
                    await site.engine.upload(container, spec.workdir, sent)
        yield host
    finally:
        await _removed(site, host)


def _heed(site: Site, blueprint: Blueprint, said: list[str]) -> None:
    """Refuses a host that the engine says it limits less than asked; hands on all else that it said."""
    why = limits_discarded(blueprint.name, said)
    if why is not None and "limits" not in site.excused:
        raise AttemptFailed(why)
    for words in said:
        site.warn(f"the engine said of the host {blueprint.name}: {words}")


def guarded(host: Host) -> None:
    """Has the host ended once it ran out of memory again and again."""

    async def end() -> None:
        await host.end("oom")

    host.memory.guard(host.container, end)


async def started(site: Site, host: Host) -> None:
    """Starts the main process, in its turn. Raises AttemptFailed: start_failed, start_timeout, engine_lost.

    The turn is on no clock. Without it the starts of many attempts would slow each other into start_timeout.
    """
    seconds = host.blueprint.limits.start_seconds
    async with site.starts or nullcontext():
        with site.timed("start"), blamed(Phase.START, host.blueprint):
            async with in_time(host.engine, seconds):
                await host.engine.start(host.container)
    host.started_at = utc_now()


@asynccontextmanager
async def attached(host: Host) -> AsyncIterator[Stream]:
    """The main process's streams, opened before the start so that nothing is missed."""
    with blamed(Phase.START, host.blueprint):
        stream = host.engine.attach(host.container)
        opened = await stream.__aenter__()
    failed: BaseException | None = None
    try:
        yield opened
    except BaseException as error:
        failed = error
        raise
    finally:
        await stream.__aexit__(type(failed) if failed else None, failed, None)


async def _removed(site: Site, host: Host) -> None:
    if site.shelter is not None:
        site.shelter.take(host)
        host.memory.forget(host.container)
        return
    host.memory.ours(host.container)
    if host.stuck:
        site.warn(f"{host.name} did not end when it was killed, by the doing of what ran there")
    with site.timed("cleanup"):
        if (host.served or host.stuck) and site.leaving is not None and site.leaving.take(host):
            return
    lost = (
        f"{host.name} was not removed when it was to go; the end of the job tries again, and so does "
        f"`scorehost clean --job {site.job}`"
    )
    with site.timed("cleanup"), anyio.CancelScope(shield=True) as scope:
        scope.deadline = anyio.current_time() + CLEANUP_SECONDS
        try:
            await host.engine.remove(host.container)
        except EngineError as error:
            _log.warning("a host was not removed", host=host.name, reason=error.message)
            site.warn(lost)
    if scope.cancelled_caught:
        site.warn(lost)
    host.memory.forget(host.container)


@asynccontextmanager
async def in_time(engine: Engine, seconds: float) -> AsyncIterator[None]:
    """TimeoutError when the block takes longer. Raises EngineHangs when it is the engine that does."""
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        await engine.ping()
        raise


class blamed:  # noqa: N801 - reads as a statement
    """Turns what the engine, the clock and the files raise inside the block into an AttemptFailed."""

    def __init__(self, phase: Phase, blueprint: Blueprint) -> None:
        self._phase = phase
        self._host = blueprint

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        name, seconds = self._host.name, self._host.limits.start_seconds
        if isinstance(error, (EngineUnreachable, EngineTimeout)):
            raise AttemptFailed(
                failure(self._phase, "engine_lost", error.message, hint=error.hint)
            ) from error
        if isinstance(error, EngineRefused):
            text = f"the host {name} cannot be started: {error.message}"
            again = error.status not in DEFINITIVE or isinstance(error, (NotFound, Conflict))
            raise AttemptFailed(failure(self._phase, "start_failed", text, retryable=again)) from error
        if isinstance(error, TimeoutError):
            text = f"the host {name} was not ready within {seconds:g} s"
            raise AttemptFailed(failure(self._phase, "start_timeout", text)) from error
        if isinstance(error, ChangedWhileSent):
            text = f"{error.path} changed on disk while the job ran"
            raise AttemptFailed(failure(self._phase, "changed_input", text)) from error
