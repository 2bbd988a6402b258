"""What can be seen of an evaluator or run.py without running it: whether it is Python, and has its function.

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


def code_warnings(tasks: Iterable[Task], root: Path) -> Iterator[str]:
    """A line for each entry file that this Python cannot read, or that lacks its function; once each."""
    entries = dict.fromkeys(entry for task in tasks for entry in _entries(task))
    for path, function in entries:
        text = _wrong(path, function)
        if text:
            shown = path.relative_to(root) if path.is_relative_to(root) else path
            yield f"{shown}{text}"


def _entries(task: Task) -> Iterator[tuple[Path, str]]:
    module, _, function = task.spec.evaluation.entrypoint.partition(":")
    path = task.code.get(module.replace(".", "/") + ".py")
    if path is not None:
        yield path, function
    if task.run_script is not None:
        yield task.run_script, _RUN


def _wrong(path: Path, function: str) -> str:
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
    return "" if {function, "*"} & names else f": nothing in it is called {function}"


def _bound(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.alias(name=name, asname=asname):
            return (asname or name,)
        case ast.Name(id=name, ctx=ast.Store()):
            return (name,)
    return ()
