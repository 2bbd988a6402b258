"""A job's archived artifacts scored again, as a new job that names its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.api.running import conducted
from scorehost.engine.opening import open_engine
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.scoring.kind import ScoreKind
from scorehost.scoring.rescore.asking import asked_again
from scorehost.scoring.rescore.moved import Rescored, moves

if TYPE_CHECKING:
    import anyio

    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.outcome import Watch
    from scorehost.jobs.running import Running
    from scorehost.scoring.asked import ScoreAsked


async def rescore(
    job: str,
    asked: ScoreAsked,
    running: Running,
    watch: Watch,
    *,
    stop: anyio.Event | None = None,
    engine: OpenEngine = open_engine,
) -> Rescored:
    """Scores what `job` archived against its dataset as it is now (or `asked.dataset`), as a new job.

    The new job lies below `running.out`; nothing of the old one is written. `asked` may name another dataset,
    gold and profiles, and narrow the tasks. With `asked.changed` only attempts whose scoring inputs changed,
    and those that were ERROR, are scored; the others stand and are linked into the new job. Raises as `run`
    does.
    """
    chosen = asked_again(job, asked, running.out)
    assert chosen.asked.parent is not None  # noqa: S101 - tells mypy what asked_again gives
    parent = read_job(JobFolder(chosen.asked.parent))
    before = {one.key: one.result for one in parent.attempts}
    outcome = await conducted(ScoreKind(engine, chosen), chosen.asked, running, watch, stop)
    return Rescored(
        outcome=outcome,
        parent=parent.folder.job_id,
        carried=int(outcome.summary["carried"]),
        moved=moves(before, outcome.rows),
    )
