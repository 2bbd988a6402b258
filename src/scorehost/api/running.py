"""Jobs of every kind: what is asked, what its kind opens for it, and the way out on a signal."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio

from scorehost.aio.groups import task_group
from scorehost.api.kinds import kind_of
from scorehost.api.signals import stop_on_signals
from scorehost.engine.opening import open_engine
from scorehost.errors import Interrupted, UsageError
from scorehost.jobs.checks import asked_before
from scorehost.jobs.kind import A, W
from scorehost.jobs.outcome import JobEvent, JobOutcome, Watch
from scorehost.jobs.run import run_job
from scorehost.jobs.running import Running
from scorehost.model.ids import SUBMISSION_NAME
from scorehost.runs.folder import find_job
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.scoring.kind import ScoreKind
from scorehost.spec.loading import load_task_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.kind import Kind, Sitting
    from scorehost.jobs.plan import Asked

GRACE_SECONDS = 10.0  # for a job to end by itself
LAST_SECONDS = 3.0  # then for its clean-up, if the engine still answers: all together below 15 s
_WORDS = ("solution", "empty", "run")
_SLOW = ("pulling", "building")  # how the images layer begins what it says


async def run(
    asked: Asked | None,
    running: Running,
    watch: Watch,
    stop: anyio.Event | None = None,
    *,
    engine: OpenEngine = open_engine,
) -> JobOutcome:
    """Runs one job to its end and tells `watch` of every step.

    `asked` says which attempts it has (its class is that of a kind of job); with `running.resume` the job's
    own job.json does, and `asked` may be None, or name the place where the dataset lies now. `stop`, when
    set, ends the job within 15 s with what is finished. In the main thread SIGINT and SIGTERM set it; a
    second one leaves it 4 s, a third ends the process. Raises InputError (SpecError, UsageError) for what
    was asked wrongly, EngineError when the engine cannot be used; then nothing was scored.
    """
    kind, asked, running = resolved(asked, running, engine)
    return await conducted(kind, asked, running, watch, stop)


def resolved(
    asked: Asked | None, running: Running, engine: OpenEngine = open_engine
) -> tuple[Kind[Any, Any], Asked, Running]:
    """The kind of job, what it is asked, and how it runs: read from its job.json when it is resumed.

    UsageError when there is no such job, or when `asked` is about other attempts.
    """
    if running.resume is None:
        if asked is None:
            raise UsageError("Nothing is asked.", hint="Say which attempts, or name a job to resume.")
        return kind_of(asked.kind, engine), asked, running
    folder = find_job(running.out, running.resume)
    record = folder.read_record()
    if asked is not None and asked.kind != record.kind:
        raise UsageError(f"{folder.job_id} is a {record.kind} job, not a {asked.kind} job.")
    kind = kind_of(record.kind, engine)
    known = asked_before(kind, record, asked)
    return kind, known, replace(running, out=folder.path.parent, resume=str(folder.path))


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
    asked = ScoreAsked(
        dataset=dataset.root,
        tasks=tuple(dataset.tasks),
        submissions=(submission_word(path),),
        parameters=dict(parameters or {}),
    )
    running = Running(out=out, allow_unenforced=allow_unenforced, private=private, keep=keep)
    return await conducted(ScoreKind(engine, choose(asked, dataset)), asked, running, watch)


def submission_word(path: str) -> str:
    """`path` as `--submission` takes it: a reserved word as it is, a folder with a name that is allowed."""
    place = Path(path)
    if not place.exists() and (path in _WORDS or path.startswith("wrong:")):
        return path
    name = place.resolve().name
    usable = SUBMISSION_NAME.fullmatch(name) and name.strip(".") and name not in _WORDS
    return f"{name if usable else 'submission'}={path}"


async def conducted(
    kind: Kind[A, W], asked: A, running: Running, watch: Watch, stop: anyio.Event | None = None
) -> JobOutcome:
    """One job of any kind, in what its kind opens for it; with a way out. As `run`."""
    stop = stop or anyio.Event()
    job_ids: list[str] = []
    said: list[str] = []
    outcome: JobOutcome | None = None

    hurry = anyio.Event()
    with stop_on_signals(stop, lambda: job_ids[-1] if job_ids else "", hurry):
        async with task_group() as group:
            way_out = _WayOut(group.cancel_scope)
            group.start_soon(way_out.watch, stop, hurry, job_ids)
            async with kind.begin(asked, running, functools.partial(_say, watch, said)) as sitting:
                way_out.sitting = sitting
                outcome = await run_job(
                    kind, sitting, running, watch, stop=stop, begun=job_ids.append, said=said
                )
                way_out.ended.set()
            group.cancel_scope.cancel()
    if outcome is None:
        left = (
            f"What is left on the engine goes with `scorehost clean --job {job_ids[-1]}`." if job_ids else ""
        )
        raise Interrupted("Stopped by a signal.", hint=left)
    return outcome


@dataclass(slots=True)
class _WayOut:
    """An engine that hangs must not hold up a person who wants out."""

    scope: anyio.CancelScope
    sitting: Sitting[Any] | None = None
    ended: anyio.Event = field(default_factory=anyio.Event)

    async def watch(self, stop: anyio.Event, hurry: anyio.Event, job_ids: list[str]) -> None:
        """Cancels when `stop` is set: at once before a job begins, afterwards when the job itself is late or
        `hurry` is set.

        Clean-ups are shielded from that; they have a moment more, and end when the machinery is given up.
        """
        await stop.wait()
        if job_ids:
            with anyio.move_on_after(GRACE_SECONDS):
                await hurry.wait()
        self.scope.cancel()
        with anyio.move_on_after(LAST_SECONDS, shield=True):
            await self.ended.wait()
        if self.sitting is not None and not self.ended.is_set():
            self.sitting.give_up()


def _say(watch: Watch, said: list[str], text: str) -> None:
    slow = text.startswith(_SLOW)
    if not slow:
        said.append(text)
    watch(JobEvent("image" if slow else "warning", fields={"text": text}))
