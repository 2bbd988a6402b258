"""Whether the solutions that a dataset ships could be handed in: looked at, and neither read nor copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.errors import AttemptFailed
from scorehost.submissions.intake import Nowhere, take_in
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scorehost.spec.dataset import Task


def shipped_faults(tasks: Iterable[Task]) -> Iterator[str]:
    """A line for each solution that an attempt would refuse, and for what of one is taken otherwise."""
    for task in tasks:
        solutions = {"solution": task.solution} | {
            f"solution-wrong/{name}": path for name, path in task.wrong.items()
        }
        for name, folder in solutions.items():
            if folder is None:
                continue
            where = f"{task.task_id}/{name}"
            try:
                taken = take_in(task.spec, Sample(folder=folder), Nowhere())
            except AttemptFailed as failed:
                yield f"{where} would be ERROR {failed.failure.kind}: {failed.failure.message}"
                continue
            yield from (f"{where}: {text}" for text in taken.warnings)
            if not taken.artifacts and task.spec.artifacts and name == "solution":
                yield f"{where} has none of the declared artifacts"
