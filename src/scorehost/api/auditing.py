"""Whether a benchmark is sound: solutions, wrong ones, mutants and attacks as one job, judged."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from scorehost.api.running import conducted, resolved
from scorehost.audit.asking import with_made_up
from scorehost.audit.clock import PLACE, clock_readers, solutions_ahead
from scorehost.audit.report import report_of, told_before
from scorehost.audit.staging import staged_at, staging_place
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.runs.claim import claimed
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.scoring.kind import ScoreKind

if TYPE_CHECKING:
    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.outcome import Watch
    from scorehost.jobs.running import Running
    from scorehost.model.audit import AuditReport


async def audit(
    asked: ScoreAsked | None,
    running: Running,
    watch: Watch,
    *,
    attacks: bool = False,
    stop: anyio.Event | None = None,
    engine: OpenEngine = open_engine,
) -> AuditReport:
    """Scores everything that tells whether the dataset's tasks are sound, and judges what came of it.

    `asked` chooses tasks and repeats (of the solution, the empty and the shipped wrong submissions); with
    `running.resume` an audit that was stopped goes on, and one that is done is told again. `attacks` adds the
    kit of dishonest submissions. Solutions of evaluators that read the clock are scored once more with it
    moved, as a second job in the folder of the first. The job stays, with audit.json; what was made up for it
    is archived in it. Raises as `run` does.
    """
    with ExitStack() as hold:
        return await _audited(asked, running, watch, hold, attacks=attacks, stop=stop, engine=engine)


async def _audited(
    asked: ScoreAsked | None,
    running: Running,
    watch: Watch,
    hold: ExitStack,
    *,
    attacks: bool,
    stop: anyio.Event | None,
    engine: OpenEngine,
) -> AuditReport:
    begun = time.monotonic()
    resume = running.resume
    _kind, known, running = resolved(asked, running)
    if not isinstance(known, ScoreAsked) or (resume is not None and known.staged is None):
        raise UsageError(f"{resume} is not an audit.", hint="Continue it with `scorehost run --resume`.")
    if running.resume is not None and (told := told_before(known, Path(running.resume))) is not None:
        return told
    if known.staged is not None and staged_at(known.staged):
        hold.enter_context(claimed(known.staged, "audit"))
    chosen = choose(known)
    if resume is None:
        place = hold.enter_context(staging_place(running.out))
        chosen = with_made_up(chosen, running.out, attacks=attacks, place=place)
    running = dataclasses.replace(running, exit_on="fail")
    stop = stop or anyio.Event()
    outcome = await conducted(ScoreKind(engine, chosen), chosen.asked, running, watch, stop)
    moved = None
    readers = clock_readers(chosen.tasks)
    if readers and outcome.status == "complete":
        hold.enter_context(claimed(outcome.folder, "audit"))
        ahead = solutions_ahead(chosen, readers, outcome.folder / PLACE)
        beside = dataclasses.replace(running, out=outcome.folder / PLACE, resume=None)
        moved = await conducted(ScoreKind(engine, ahead), ahead.asked, beside, watch, stop)
    return report_of(outcome, chosen, moved=moved, seconds=time.monotonic() - begun)
