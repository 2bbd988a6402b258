"""Whether a benchmark is sound: solutions, wrong ones, mutants and attacks as one job, judged."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio

from scorehost.api.running import on_engine
from scorehost.audit.asking import asked_audit
from scorehost.audit.clock import PLACE, asked_of_clock, clock_readers, with_moved_clock
from scorehost.audit.report import report_of, told_before
from scorehost.audit.staging import staged_at, staging_place
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.jobs.resume import resumed_options
from scorehost.jobs.select import selected_tasks
from scorehost.runs.claim import claimed
from scorehost.spec.loading import load_dataset

if TYPE_CHECKING:
    from scorehost.api.opener import OpenEngine
    from scorehost.jobs.options import RunOptions
    from scorehost.jobs.outcome import Watch
    from scorehost.model.audit import AuditReport


async def audit(
    options: RunOptions,
    watch: Watch,
    *,
    attacks: bool = False,
    stop: anyio.Event | None = None,
    engine: OpenEngine = open_engine,
) -> AuditReport:
    """Scores everything that tells whether the dataset's tasks are sound, and judges what came of it.

    `options` choose tasks, repeats (of the solution, the empty and the shipped wrong submissions) and how the
    job runs; with `options.resume` an audit that was stopped goes on, and one that is done is told again.
    `attacks` adds the kit of dishonest submissions. Solutions of evaluators that read the clock are scored
    once more with it moved, as a second job in the folder of the first. The job stays, with audit.json; what
    was handed in is archived in it. Raises as `run` does.
    """
    with ExitStack() as hold:
        return await _audited(options, watch, hold, attacks=attacks, stop=stop, engine=engine)


async def _audited(
    options: RunOptions,
    watch: Watch,
    hold: ExitStack,
    *,
    attacks: bool,
    stop: anyio.Event | None,
    engine: OpenEngine,
) -> AuditReport:
    begun = time.monotonic()
    if options.resume is not None:
        asked = resumed_options(options)
        if asked.staged is None:
            raise UsageError(f"{options.resume} is no audit.", hint="Go on with `scorehost run --resume`.")
        if (told := told_before(asked)) is not None:
            return told
        if staged_at(asked.staged):
            hold.enter_context(claimed(asked.staged, "audit"))
        dataset = load_dataset(asked.dataset, profiles=asked.profiles, gold=asked.gold)
    else:
        dataset = load_dataset(options.dataset, profiles=options.profiles, gold=options.gold)
        place = hold.enter_context(staging_place(options.out))
        options = asked = asked_audit(options, dataset, attacks=attacks, place=place)
    options = dataclasses.replace(options, exit_on="fail")
    stop = stop or anyio.Event()
    outcome = await on_engine(options, asked, dataset, watch=watch, stop=stop, open_one=engine)
    moved = None
    readers = clock_readers({task.task_id: task for task in selected_tasks(asked, dataset)})
    if readers and outcome.status == "complete":
        hold.enter_context(claimed(outcome.folder, "audit"))
        place = outcome.folder / PLACE
        once_more = asked_of_clock(asked, readers, place)
        ahead = with_moved_clock(dataset, readers, place)
        moved = await on_engine(once_more, once_more, ahead, watch=watch, stop=stop, open_one=engine)
    return report_of(outcome, asked, dataset, moved=moved, seconds=time.monotonic() - begun)
