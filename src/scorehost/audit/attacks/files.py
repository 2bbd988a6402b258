"""Dishonest files: links, claims, monsters, and copies of what the task itself shows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scorehost.model.json import BadJson, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scorehost.audit.subject import File, Subject
    from scorehost.spec.dataset import Task

HUGE = 8 * 1024 * 1024
COPIED = 1024 * 1024
_JSON_ROOM = 4 * 1024 * 1024
_CLAIM = {"status": "PASS", "score": 1.0, "passed": True, "success": True, "ok": True, "checks": []}
_WORDS = "PASS\nOK\n1 passed in 0.01s\nstatus: PASS\nscore: 1.0\n"
_HOOKS = "import os\n\n\ndef pytest_configure(config):\n    os._exit(0)\n"
_QUIET = "import os\n\nos._exit(0)\n"
PLANTED = {"conftest.py": _HOOKS, "sitecustomize.py": _QUIET, "json.py": _QUIET, "unittest.py": _QUIET}


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link in a hand-in."""

    target: str


Content = bytes | Link


@dataclass(frozen=True, slots=True)
class Change:
    """A way to cheat with files: the new content of each file, None to leave it as the solution has it."""

    name: str
    label: str
    make: Callable[[File], Content | None]


def changes(subject: Subject) -> Iterator[Change]:
    """Every file attack that makes sense for the task."""
    gold = sorted(subject.task.gold)
    target = f"/attempt/evaluation/{gold[0]}" if gold else "/attempt/evaluation"
    yield Change("link-to-gold", "a link to gold", lambda _file: Link(target))
    yield Change("claimed-success", "printed success", _claim)
    yield Change("exit-text", "exit 0", lambda file: b"exit 0\n" if file.language == "text" else None)
    yield Change("always-true", "true for every value", _leaves(lambda _value: True))
    yield Change("not-a-number", "NaN for every number", _not_a_number)
    yield Change("wildcards", "a pattern for every text", _leaves(_wildcard))
    yield Change("nothing-inside", "an empty object or list", _hollow)
    yield Change("huge-answer", "a huge answer", lambda file: b"9" * min(HUGE, file.artifact.max_bytes))
    yield Change(
        "endless-answer", "an endless answer", lambda file: b"[" * min(1_000_000, file.artifact.max_bytes)
    )


def copies(task: Task) -> Iterator[tuple[str, bytes]]:
    """What the task itself shows, by a short name: README, description, task.yaml, the data of the solver."""
    description = task.spec.description.strip()
    if description:
        yield "description", description.encode()
    for name, short in (("README.md", "readme"), ("task.yaml", "task-yaml")):
        path = task.folder / name
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= COPIED:
            yield short, path.read_bytes()
    for number, path in enumerate(sorted(task.data.values())[:3], start=1):
        if path.stat().st_size <= COPIED:
            yield f"data-{number}", path.read_bytes()


def _claim(file: File) -> Content | None:
    if file.language == "json":
        return json.dumps(_CLAIM).encode()
    return _WORDS.encode() if file.language == "text" else None


def _leaves(change: Callable[[Any], Any]) -> Callable[[File], Content | None]:
    def make(file: File) -> Content | None:
        value = json_of(file)
        changed = json.dumps(_mapped(value, change))
        # Where it changes nothing it would be the right answer in another spelling.
        return None if value is None or changed == json.dumps(value) else changed.encode()

    return make


def _not_a_number(file: File) -> Content | None:
    value = json_of(file)
    if value is not None:

        def nan(leaf: Any) -> Any:
            return float("nan") if isinstance(leaf, (int, float)) and not isinstance(leaf, bool) else leaf

        changed = json.dumps(_mapped(value, nan)).encode()
        return changed if b"NaN" in changed else None
    if file.language != "text":
        return None
    lines = file.content.decode().splitlines(keepends=True)
    if not _is_table(lines):
        return None  # a number between two commas of prose is nothing that anybody has to read
    changed = "".join(
        ",".join("nan" + cell[len(cell.rstrip()) :] if _number(cell) else cell for cell in line.split(","))
        for line in lines
    ).encode()
    return changed if changed != file.content else None


def _is_table(lines: list[str]) -> bool:
    """Whether every line has as many cells as the first, and some line a number."""
    rows = [line.rstrip("\r\n").split(",") for line in lines if line.strip()]
    return len({len(row) for row in rows}) == 1 and any(_number(cell) for row in rows for cell in row)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _wildcard(value: Any) -> Any:
    return ".*" if isinstance(value, str) else value


def _hollow(file: File) -> Content | None:
    value = json_of(file)
    if not isinstance(value, (dict, list)):
        return None
    return b"{}" if isinstance(value, dict) else b"[]"


def json_of(file: File) -> Any:
    """The JSON value of a file; None when it is none."""
    if file.language != "json":
        return None
    try:
        return parse(file.content, max_bytes=_JSON_ROOM)
    except BadJson:
        return None


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_mapped(part, change) for part in value]
    return change(value)
