"""The `script` of a check: looked up among the files of the dataset, never copied."""

from __future__ import annotations

from pathlib import Path

from scorehost.spec.files import relative_path_fault

TASKS = "tasks/"


def script_fault(script: str, task: Path) -> str:
    """Why `script` names no file of the dataset; empty when it does.

    It is relative to the folder `task`, or begins with `tasks/` and the id of a task beside it.
    """
    if fault := relative_path_fault(script):
        return f"is no path in the dataset: it {fault}"
    tasks = task.parent.resolve()
    place = tasks / script.removeprefix(TASKS) if script.startswith(TASKS) else task.resolve() / script
    try:
        found = place.resolve()
        # A link may point to another file of a task, and not out of the dataset.
        return (
            "" if found.is_file() and found.is_relative_to(tasks) else "is not a file of the dataset's tasks"
        )
    except OSError as error:
        return f"cannot be looked up: {error.strerror}"
