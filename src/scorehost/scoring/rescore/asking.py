"""From a job and a few options to the options of the job that scores its archive again."""

from __future__ import annotations

import dataclasses
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near
from scorehost.runs.folder import find_job
from scorehost.spec.loading import load_either

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.jobs.options import RunOptions
    from scorehost.spec.dataset import Dataset

_NAMED = 5


def asked_again(job: str, given: RunOptions, *, dataset: Path | None = None) -> tuple[RunOptions, Dataset]:
    """The options of the new job, and the dataset as it is now.

    `job` is an id, the beginning of one, `latest` or a folder; `given` says how the new job runs, and may
    narrow the tasks or name other gold and profiles. Parameters and repeats are the parent's. Raises
    UsageError and SpecError.
    """
    folder = find_job(given.out, job)
    was = folder.read_record().asked
    root = dataset or Path(was.dataset)
    if not root.is_dir():
        raise UsageError(
            f"The dataset {root} of the job {folder.job_id} is not there.", hint="Name it with --dataset DIR."
        )
    options = dataclasses.replace(
        given,
        dataset=root,
        profiles=given.profiles or _path(was.profiles),
        gold=given.gold or _path(was.gold),
        parameters=was.parameters,
        repeat=was.repeat,
        parent=folder.path,
    )
    found = load_either(options.dataset, profiles=options.profiles, gold=options.gold)
    known = _matching(given.tasks, folder.read_record().tasks)
    gone = [task_id for task_id in known if task_id not in found.tasks]
    if len(gone) == len(known):
        raise UsageError(
            f"The dataset {root} has none of the tasks that the job {folder.job_id} scored.",
            hint=near(known[0], found.tasks),
        )
    if gone:
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        text = f"not scored again, since the dataset has them no more: {', '.join(gone[:_NAMED])}{more}"
        found = found.model_copy(update={"warnings": (*found.warnings, text)})
    kept = tuple(task_id for task_id in known if task_id in found.tasks)
    return dataclasses.replace(options, tasks=kept), found


def _matching(globs: tuple[str, ...], known: Iterable[str]) -> list[str]:
    names = sorted(known)
    if not globs:
        return names
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            raise UsageError(f"No task of the job matches --task {glob}.", hint=near(glob, names))
    return [name for name in names if any(fnmatchcase(name, glob) for glob in globs)]


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
