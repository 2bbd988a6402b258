"""A scoring host to look into: made as for an attempt, entered by the docker command, removed afterwards."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from scorehost.api.running import submission_word
from scorehost.api.signals import stop_on_signals
from scorehost.attempt.looking import host_to_look_into
from scorehost.attempt.resources import open_resources
from scorehost.engine.opening import open_engine
from scorehost.files.scratch import scratch
from scorehost.hosts.kept import enter
from scorehost.jobs.plan import Desk
from scorehost.model.ids import new_job_id
from scorehost.runs.claim import made_folder
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.scoring.planning import plan_score
from scorehost.spec.loading import load_task_dir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scorehost.engine.opener import OpenEngine


@dataclass(frozen=True, slots=True)
class Look:
    """A running host. `stop` is set by the first signal that asks for the end."""

    host: str
    container: str
    gold: bool
    argv: tuple[str, ...]  # opens a shell in it
    stop: anyio.Event


@asynccontextmanager
async def look_into(
    task_dir: Path,
    warn: Callable[[str], None],
    *,
    host: str | None = None,
    submission: str | None = None,
    engine: OpenEngine = open_engine,
) -> AsyncIterator[Look]:
    """A host of the task in `task_dir` with all that it has in an attempt; removed at the end of the block.

    `host` is the name of an environment, None or `evaluator` for the evaluator's. `submission` as `score`
    takes it; without one the solution, or nothing where there is none. Raises InputError, EngineError,
    AttemptFailed.
    """
    dataset = load_task_dir(task_dir)
    (task,) = dataset.tasks.values()
    word = submission or ("solution" if task.solution is not None else "empty")
    job_id = new_job_id()
    stop = anyio.Event()
    with (
        scratch("shell") as place,
        made_folder(place / "runs", job_id, "look", keep=lambda _folder: False) as folder,
        stop_on_signals(stop, lambda: job_id),
    ):
        asked = ScoreAsked(dataset=dataset.root, tasks=(task.task_id,), submissions=(submission_word(word),))
        order = plan_score(choose(asked, dataset), Desk(place / "incoming", warn)).orders[0]
        address = dataset.profiles.engine.host
        async with (
            engine(address) as opened,
            # Keeping turns the making of hosts ahead of need off; this one is removed all the same.
            open_resources(
                opened, dataset, job_id=job_id, folder=folder, say=warn, keep="always"
            ) as resources,
            host_to_look_into(resources, order, host, warn) as found,
        ):
            yield Look(
                host=found.blueprint.name,
                container=found.name,
                gold=found.blueprint.gold,
                argv=tuple(shlex.split(enter(found, address))),
                stop=stop,
            )
