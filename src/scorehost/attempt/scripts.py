"""The `script` of a check: looked up among the files of the dataset, never copied."""

from __future__ import annotations

from pathlib import Path

from scorehost.spec.files import relative_path_fault

TASKS, SHARED = "tasks/", "shared/"


def script_fault(script: str, task: Path) -> str:
    """Why `script` names no file of the dataset; empty when it does.

    It is relative to the folder `task`, or begins with `tasks/` and the id of a task beside it, or with
    `shared/`, which lies beside `tasks/`.
    """
    if fault := relative_path_fault(script):
        return f"is no path in the dataset: it {fault}"
    tasks = task.parent.resolve()
    shared = tasks.parent / SHARED
    places = [task.resolve() / script]
    if script.startswith(TASKS):
        places = [tasks / script.removeprefix(TASKS)]
    elif script.startswith(SHARED):
        places.append(tasks.parent / script)
    try:
        # A link may point to another file of a task, and not out of the dataset.
        for found in (place.resolve() for place in places):
            if found.is_file() and (found.is_relative_to(tasks) or found.is_relative_to(shared)):
                return ""
    except OSError as error:
        return f"cannot be looked up: {error.strerror}"
    return "is not a file of the dataset's tasks or of shared/"
