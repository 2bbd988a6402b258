"""What can be seen of an evaluator or run.py without running it: whether it is Python, has its function, and
which key of the task it needs.

Warnings and no problems: the image that runs it may have another Python than this one.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from scorehost.spec.dataset import Task

_MAX_BYTES = 1024 * 1024
_RUN = "run"
_SQLITE = "imports sqlite3; a database in a file needs `evaluation.file_locks: true`, one in memory does not"


def code_warnings(tasks: Iterable[Task], root: Path) -> Iterator[str]:
    """A line for each entry file that this Python cannot read, that lacks its function, or that imports
    SQLite where files cannot be locked; once each.
    """
    entries = dict.fromkeys(entry for task in tasks for entry in _entries(task))
    for path, function, file_locks in entries:
        text = _wrong(path, function, file_locks=file_locks)
        if text:
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            yield f"{shown}{text}"


def _entries(task: Task) -> Iterator[tuple[Path, str, bool]]:
    module, _, function = task.spec.evaluation.entrypoint.partition(":")
    path = task.code.get(module.replace(".", "/") + ".py")
    if path is not None:
        yield path, function, task.spec.evaluation.file_locks
    if task.run_script is not None:
        yield task.run_script, _RUN, True  # its key stands in profiles.yaml


def _wrong(path: Path, function: str, *, file_locks: bool) -> str:
    try:
        with path.open("rb") as stream:
            source = stream.read(_MAX_BYTES + 1)
    except OSError:
        return ""  # the attempt tells, should it still be so
    if len(source) > _MAX_BYTES:
        return ""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except SyntaxError as error:
        return f":{error.lineno or 1}:{error.offset or 1}: this Python cannot read it: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f": this Python cannot read it: {error or type(error).__name__}"
    names = {name for node in ast.walk(tree) for name in _bound(node)}
    if not {function, "*"} & names:
        how = "write it" if function == _RUN else "write it, or name another by `evaluation.entrypoint`"
        return f": nothing in it is called {function}; {how}"
    return "" if file_locks else _locking(tree)


def _locking(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = any(name.name.partition(".")[0] == "sqlite3" for name in names)
            case ast.ImportFrom(module=module, level=0):
                found = (module or "").partition(".")[0] == "sqlite3"
            case _:
                continue
        if found:
            return f":{node.lineno}: {_SQLITE}"
    return ""


def _bound(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.alias(name=name, asname=asname):
            return (asname or name,)
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
    return ()
