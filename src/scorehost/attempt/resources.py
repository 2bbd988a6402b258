"""What all attempts of one job share: engine, images, memory watch, blobs, digests of tasks."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio
import structlog

from scorehost import __version__
from scorehost.adapters.abandoned import remove_abandoned
from scorehost.aio.threads import in_thread
from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints
from scorehost.attempt.digests import TaskTrees, Tools
from scorehost.attempt.work import WorkOrder
from scorehost.calls.recorder import JobCalls
from scorehost.engine.door import Engine, EngineInfo
from scorehost.errors import EngineError, EngineHangs
from scorehost.hosts.admission import MemoryPool
from scorehost.hosts.clean import clean, clean_job
from scorehost.hosts.confinement import excused
from scorehost.hosts.host import Site
from scorehost.hosts.images import Images
from scorehost.hosts.leaving import Leaving, leaving_hosts
from scorehost.hosts.memory_watch import MemoryWatch, watch_memory
from scorehost.hosts.warm import Wanted, WarmHosts, warm_hosts
from scorehost.model.masking import Masker
from scorehost.model.result import Versions
from scorehost.runs.blobs import Blobs
from scorehost.runs.writer import Writer, open_writer
from scorehost.spec.dataset import Dataset, Task
from scorehost.spec.digests import profile_digest
from scorehost.spec.gold_key import GoldKey, gold_key
from scorehost.spec.own_secrets import own_masker

_log = structlog.get_logger()
CLEANUP_SECONDS = 30.0
_PAUSE = 0.5
FILE_THREADS = 4
FEWEST_STARTS = 2  # at a time, however few cores the engine has
SPARE = "spare"  # what the label says in place of an attempt while a host waits for one
Keep = Literal["error", "always"]
Upcoming = Callable[[int], Sequence[WorkOrder]]


@dataclass(slots=True)
class Resources:
    """The shared means of one job's attempts."""

    engine: Engine
    info: EngineInfo
    dataset: Dataset
    job_id: str
    images: Images
    memory: MemoryWatch
    pool: MemoryPool
    blobs: Blobs
    leaving: Leaving
    tools: Tools
    versions: Versions
    profile: str
    gold_key: GoldKey
    writer: Writer
    excused: frozenset[str] = frozenset()  # what this engine need not hold (hosts/confinement.py)
    keep: Keep | None = None  # which attempts' hosts stay for a look
    agents: JobCalls | None = None
    warm: WarmHosts | None = None
    upcoming: Upcoming = lambda _count: ()
    running: int = 0
    starts: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(FEWEST_STARTS))
    files: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(FILE_THREADS))
    _trees: dict[str, TaskTrees] = field(default_factory=dict)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _masker: tuple[Masker, Masker] | None = None

    def masker(self) -> Masker:
        """Knows all that may not be told: the controller's own secrets, and those of the bound roles."""
        own = own_masker()
        if self.agents is None:
            return own
        if self._masker is None or self._masker[0] is not own:
            self._masker = (own, own.also(self.agents.roles.masker.values))
        return self._masker[1]

    @contextmanager
    def attempting(self) -> Iterator[None]:
        """One attempt runs inside the block."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    def look_ahead(self) -> None:
        """Has hosts made ready for the attempts that come next: `warm` for each that runs now."""
        if self.warm is None:
            return
        profiles = self.dataset.profiles
        wanted: list[Wanted] = []
        for order in self.upcoming(max(1, self.running) * profiles.evaluate_host.warm):
            if order.work.sample.run and not profiles.evaluate_host.isolated:
                continue
            plans = [
                evaluator_blueprint(order.work.task, profiles),
                *named_blueprints(order.work.task, profiles).values(),
            ]
            found = ((plan, self.images.known(plan.image)) for plan in plans)
            wanted += [(plan, image) for plan, image in found if image is not None]
        self.warm.plan(wanted)

    async def trees(self, task: Task) -> TaskTrees:
        """The task's gold and code, read and hashed once in a job: a later change is then found out."""
        async with self._lock:
            if task.task_id not in self._trees:
                self._trees[task.task_id] = await in_thread(
                    lambda: TaskTrees.read(task, self.gold_key, self.tools), self.files
                )
            return self._trees[task.task_id]


@asynccontextmanager
async def open_resources(
    engine: Engine,
    dataset: Dataset,
    *,
    job_id: str,
    folder: Path,
    say: Callable[[str], None] = lambda _: None,
    upcoming: Upcoming = lambda _count: (),
    agents: JobCalls | None = None,
    keep: Keep | None = None,
    writer: Writer | None = None,
    allow_unenforced: bool = False,
    patience: float = 0.0,
) -> AsyncIterator[Resources]:
    """The resources of one job whose folder is `folder` (its parent holds the blobs).

    First removes what dead jobs left on the engine; at the end, whatever happened, all that this job left.
    `say` is told what is slow or could not be done. `upcoming` tells the next attempts, for which hosts
    are made ready ahead of need. `agents`: the bound roles, when tasks have any. `keep`: the hosts of all
    attempts, or of those that end as ERROR, stay on the engine (then none is made ahead). `writer`: that of
    the job; without one the attempts have their own. `allow_unenforced`: hosts run also where the engine does
    not hold them as it was asked to. `patience`: seconds in which an engine that seems to hang is asked again
    at the end.
    Raises EngineError when the engine cannot be asked, UsageError for a gold.key that cannot be used.
    """
    info = await engine.info()
    key = await in_thread(lambda: gold_key(dataset), anyio.CapacityLimiter(1))
    report = await clean(engine)
    if report.removed:
        say(f"removed {len(report.removed)} objects that dead jobs had left on the engine")
    if calls := await in_thread(remove_abandoned, anyio.CapacityLimiter(1)):
        say(f"ended and removed what {calls} calls of agents of dead jobs had left on this machine")
    blobs = Blobs(folder.parent / ".blobs")
    blobs.sweep()
    runtime = dataset.profiles.evaluate_host.runtime or info.default_runtime
    free = excused(runtime, allow_unenforced=allow_unenforced)
    try:
        pool, tools = MemoryPool(info.memory_bytes), Tools.read()
        starts = anyio.CapacityLimiter(max(FEWEST_STARTS, info.cpus))
        async with (
            nullcontext(writer) if writer is not None else open_writer(folder) as writes,
            watch_memory(engine, job_id) as memory,
            leaving_hosts(pool) as leaving,
            warm_hosts(
                Site(
                    engine,
                    memory,
                    job_id,
                    SPARE,
                    warn=say,
                    timing=lambda _phase, _seconds: None,
                    starts=starts,
                    leaving=leaving,
                    mapped=info.maps_users,
                    excused=free,
                ),
                pool,
                tools=tools.tools,
                harness=tools.harness,
            ) as warm,
        ):
            resources = Resources(
                engine=engine,
                info=info,
                dataset=dataset,
                job_id=job_id,
                images=Images(engine, folder / "logs", say, info),
                memory=memory,
                pool=pool,
                blobs=blobs,
                tools=tools,
                versions=Versions(
                    scorehost=f"{__version__} (python {platform.python_version()})",
                    engine=info.version,
                    kernel=info.kernel,
                    runtime=runtime,
                    architecture=info.architecture,
                ),
                profile=profile_digest(dataset.profiles),
                gold_key=key,
                warm=warm if dataset.profiles.evaluate_host.warm and keep is None else None,
                excused=free,
                keep=keep,
                upcoming=upcoming,
                starts=starts,
                leaving=leaving,
                agents=agents,
                writer=writes,
            )
            warm.replan = resources.look_ahead
            yield resources
    finally:
        await _swept(engine, job_id, say, patience)


async def _swept(engine: Engine, job_id: str, say: Callable[[str], None], patience: float) -> None:
    command = f"run `scorehost clean --job {job_id}`"
    with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLEANUP_SECONDS) as scope:
        try:
            lost = await _cleaned(engine, job_id, patience)
        except EngineError as error:
            _log.warning("the engine could not be asked for leftovers", reason=error.message)
            say(f"the engine could not be asked what is left of this job; {command}")
        else:
            if lost:
                say(f"could not be removed: {', '.join(lost)}; {command}")
    if scope.cancelled_caught:
        say(f"the clean-up took more than {CLEANUP_SECONDS:.0f} s; {command}")


async def _cleaned(engine: Engine, job_id: str, patience: float) -> list[str]:
    """What could not be removed. An engine that only seems to hang, such as one that has just started on a
    busy machine, is asked again for `patience` seconds: nothing of a job may stay where it can be removed.
    """
    until = anyio.current_time() + patience
    while True:
        try:
            return await clean_job(engine, job_id)
        except EngineHangs:
            if anyio.current_time() >= until:
                raise
            await anyio.sleep(_PAUSE)
