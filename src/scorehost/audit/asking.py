"""An audit as a job: which submissions, and where those lie that were made for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from scorehost.audit.staging import PLACE, stage, sweep_staged
from scorehost.errors import UsageError
from scorehost.model.ids import new_job_id

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.scoring.choosing import Chosen

NAME = "audit"


def with_made_up(chosen: Chosen, out: Path, *, attacks: bool, place: Path | None = None) -> Chosen:
    """The same tasks with the submissions of an audit; mutants and attacks are written into `place`, which
    its caller has claimed (None: one that nobody has). What deleted audits left below `out`/audits goes.

    Raises UsageError when submissions were named, DiskFull.
    """
    asked, tasks = chosen.asked, chosen.tasks
    if asked.submissions or asked.submissions_dir is not None or asked.predictions is not None:
        raise UsageError(
            "An audit makes its own submissions.", hint="Score submissions with `scorehost run`."
        )
    words = ["solution"] if any(task.solution is not None for task in tasks) else []
    words += ["empty", *(f"wrong:{name}" for name in sorted({name for task in tasks for name in task.wrong}))]
    sweep_staged(out)
    place = place or out.absolute() / PLACE / new_job_id()
    stage(tasks, place, with_attacks=attacks)
    asked = dataclasses.replace(asked, submissions=tuple(words), staged=place, name=asked.name or NAME)
    return dataclasses.replace(chosen, asked=asked)
