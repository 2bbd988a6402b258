"""Files of a dataset that are not what they are named: pointers, placeholders, error pages, empty gold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.files.names import on_one_line
from scorehost.files.placeholders import HEAD_BYTES, placeholder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from scorehost.spec.dataset import Task

_SHOWN = 5
_MAY_BE_EMPTY = ("__init__.py", ".gitkeep", ".keep", "py.typed")


def stand_ins(tasks: Iterable[Task]) -> Iterator[str]:
    """A line for each gold file and each file of a solution that stands for another; a few a task."""
    for task in tasks:
        found = list(_in_gold(task))
        for name, folder in {"solution": task.solution, **task.wrong}.items():
            if folder is not None:
                shown = name if name == "solution" else f"solution-wrong/{name}"
                found += _in_folder(folder, f"{task.task_id}/{shown}")
        yield from found[:_SHOWN]
        if len(found) > _SHOWN:
            yield f"{task.task_id}: {len(found) - _SHOWN} more files are like that"


def _in_gold(task: Task) -> Iterator[str]:
    empty = []
    for name, path in task.gold.items():
        size = _size(path)
        if why := _why(path, size):
            yield f"{task.task_id}: gold file {on_one_line(name)} {why}"
        elif size == 0 and name.rpartition("/")[2] not in _MAY_BE_EMPTY:
            empty.append(on_one_line(name))
    if empty:
        names = ", ".join(empty[:_SHOWN]) + (", …" if len(empty) > _SHOWN else "")
        what = f"gold file {names} is" if len(empty) == 1 else f"{len(empty)} gold files are"
        which = "" if len(empty) == 1 else f": {names}"
        yield f"{task.task_id}: {what} empty{which}; see that what belongs there was copied"


def _in_folder(folder: Path, shown: str) -> Iterator[str]:
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink() and (why := _why(path, _size(path))):
            yield f"{shown}/{on_one_line(path.relative_to(folder).as_posix())} {why}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1  # whoever reads it tells


def _why(path: Path, size: int) -> str:
    if size <= 0:
        return placeholder(path.name, b"", size)
    try:
        with path.open("rb") as stream:
            return placeholder(path.name, stream.read(HEAD_BYTES), size)
    except OSError:
        return ""
