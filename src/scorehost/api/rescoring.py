"""A job's archived artifacts scored again, as a new job that names its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.api.running import on_engine
from scorehost.engine.opening import open_engine
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.scoring.rescore.asking import asked_again
from scorehost.scoring.rescore.moved import Rescored, moves

if TYPE_CHECKING:
    from pathlib import Path

    import anyio

    from scorehost.api.opener import OpenEngine
    from scorehost.jobs.options import RunOptions
    from scorehost.jobs.outcome import Watch


async def rescore(
    job: str,
    options: RunOptions,
    watch: Watch,
    *,
    dataset: Path | None = None,
    stop: anyio.Event | None = None,
    engine: OpenEngine = open_engine,
) -> Rescored:
    """Scores what `job` archived against its dataset as it is now (or `dataset`), as a new job.

    The new job lies below `options.out`; nothing of the old one is written. With `options.changed` only
    attempts whose scoring inputs changed, and those that were ERROR, are scored; the others stand and are
    linked into the new job. Raises as `run` does.
    """
    asked, found = asked_again(job, options, dataset=dataset)
    assert asked.parent is not None  # noqa: S101 - tells mypy what asked_again gives
    parent = read_job(JobFolder(asked.parent))
    before = {one.key: one.result for one in parent.attempts}
    outcome = await on_engine(asked, asked, found, watch=watch, stop=stop, open_one=engine)
    return Rescored(
        outcome=outcome,
        parent=parent.folder.job_id,
        carried=int(outcome.summary["carried"]),
        moved=moves(before, outcome.rows),
    )
