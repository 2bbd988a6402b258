"""An audit as a job: which submissions, and where those lie that were made for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from scorehost.audit.staging import PLACE, stage, sweep_staged
from scorehost.errors import UsageError
from scorehost.jobs.select import selected_tasks
from scorehost.model.ids import new_job_id

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.jobs.options import RunOptions
    from scorehost.spec.dataset import Dataset

NAME = "audit"


def asked_audit(
    options: RunOptions, dataset: Dataset, *, attacks: bool, place: Path | None = None
) -> RunOptions:
    """The options of the job that an audit is; mutants and attacks are written into `place`, which its caller
    has claimed (None: one that nobody has). What deleted audits left below `out`/audits goes.

    Raises UsageError for tasks that are not there, DiskFull.
    """
    if options.submissions or options.submissions_dir is not None or options.predictions is not None:
        raise UsageError("An audit hands in by itself.", hint="Score submissions with `scorehost run`.")
    tasks = selected_tasks(options, dataset)
    words = ["solution"] if any(task.solution is not None for task in tasks) else []
    words += ["empty", *(f"wrong:{name}" for name in sorted({name for task in tasks for name in task.wrong}))]
    sweep_staged(options.out)
    place = place or options.out.absolute() / PLACE / new_job_id()
    stage(tasks, place, with_attacks=attacks)
    return dataclasses.replace(options, submissions=tuple(words), staged=place, name=options.name or NAME)
