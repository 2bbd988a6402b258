"""From a job and a few options to the tasks of the job that scores its archive again."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near
from scorehost.runs.folder import find_job
from scorehost.scoring.asked import HERE
from scorehost.scoring.choosing import Chosen, choose
from scorehost.scoring.kind import was_asked
from scorehost.spec.loading import load_either

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scorehost.scoring.asked import ScoreAsked

_NAMED = 5


def asked_again(job: str, given: ScoreAsked, out: Path) -> Chosen:
    """What the new job is asked, and the tasks as its dataset has them now.

    `job` is an id, the beginning of one, `latest` or a folder, looked up in `out`; `given` may narrow the
    tasks and name another dataset, gold and profiles. Parameters and repeats are the parent's. Raises
    UsageError and SpecError.
    """
    folder = find_job(out, job)
    record = folder.read_record()
    was = was_asked(record)
    root = was.dataset if given.dataset == HERE else given.dataset
    if not root.is_dir():
        raise UsageError(
            f"The dataset {root} of the job {folder.job_id} is not there.", hint="Name it with --dataset DIR."
        )
    asked = dataclasses.replace(
        given,
        dataset=root,
        profiles=given.profiles or was.profiles,
        gold=given.gold or was.gold,
        parameters=was.parameters,
        repeat=was.repeat,
        parent=folder.path,
    )
    found = load_either(asked.dataset, profiles=asked.profiles, gold=asked.gold)
    known = _matching(given.tasks, record.tasks)
    gone = [task_id for task_id in known if task_id not in found.tasks]
    if len(gone) == len(known):
        raise UsageError(
            f"The dataset {root} has none of the tasks that the job {folder.job_id} scored.",
            hint=near(known[0], found.tasks),
        )
    if gone:
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        text = f"not scored again, since the dataset no longer has them: {', '.join(gone[:_NAMED])}{more}"
        found = found.model_copy(update={"warnings": (*found.warnings, text)})
    kept = tuple(task_id for task_id in known if task_id in found.tasks)
    return choose(dataclasses.replace(asked, tasks=kept), found)


def _matching(globs: tuple[str, ...], known: Iterable[str]) -> list[str]:
    names = sorted(known)
    if not globs:
        return names
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            raise UsageError(f"No task of the job matches --task {glob}.", hint=near(glob, names))
    return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]
