"""Which tasks of a dataset a job is about."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near

if TYPE_CHECKING:
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.spec.dataset import Dataset, Task


def selected_tasks(asked: ScoreAsked, dataset: Dataset) -> tuple[Task, ...]:
    """The tasks that match a glob and carry a tag (where such are asked for), the first `limit` by id.

    `--set` parameters are laid over the tasks' own. UsageError for a glob or tag that matches nothing.
    """
    if not dataset.tasks:
        raise UsageError(f"The dataset {dataset.root} has no tasks.", hint="Add tasks/<task_id>/task.yaml.")
    chosen = set(dataset.tasks)
    if asked.tasks:
        chosen = set()
        for glob in asked.tasks:
            matching = {task_id for task_id in dataset.tasks if fnmatchcase(task_id, glob)}
            if not matching:
                raise UsageError(f"No task matches --task {glob}.", hint=near(glob, dataset.tasks))
            chosen |= matching
    if asked.tags:
        chosen &= _tagged(asked.tags, dataset)
    if not chosen:
        raise UsageError(
            "No task matches both --task and --tag.", hint="Each alone matches some; widen one of them."
        )
    tasks = [dataset.tasks[task_id] for task_id in sorted(chosen)]
    if asked.limit is not None:
        tasks = tasks[: asked.limit]
    return tuple(_with_parameters(task, asked) for task in tasks)


def _tagged(tags: tuple[str, ...], dataset: Dataset) -> set[str]:
    known = {tag for task in dataset.tasks.values() for tag in task.spec.tags}
    for tag in tags:
        if tag not in known:
            raise UsageError(f"No task carries the tag {tag}.", hint=near(tag, known))
    return {task_id for task_id, task in dataset.tasks.items() if set(tags) & set(task.spec.tags)}


def _with_parameters(task: Task, asked: ScoreAsked) -> Task:
    if not asked.parameters:
        return task
    parameters = {**task.spec.parameters, **asked.parameters}
    spec = task.spec.model_copy(update={"parameters": parameters})
    return task.model_copy(update={"spec": spec})
