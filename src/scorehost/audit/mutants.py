"""Solutions with one thing wrong: a value, a line, a file, a type, the order; the same ones every time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.audit import mutate_code, mutate_json, mutate_notebook, mutate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scorehost.audit.subject import File, Subject

MOST = 8  # of one task
_BYTE = 0xFF


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutated solution: all its files, and what was done to it in words."""

    files: Mapping[str, bytes]
    detail: str


Change = tuple[bytes, str] | None
"""The new content and what was done; None where the file offers nothing of the kind."""


def mutants(subject: Subject, *, seed: str = "", most: int = MOST) -> tuple[Mutant, ...]:
    """At most `most` different mutants of the task's solution; none where it has no solution.

    Every way of mutating gets its turn before any has a second one. `seed` and the task's id decide which
    value, line or file it is.
    """
    if not subject.solved or not subject.files:
        return ()
    chance = random.Random(f"{subject.task.task_id}\n{seed}")  # noqa: S311 - to be repeatable is the point
    whole = {path: file.content for path, file in subject.files.items()}
    found: dict[tuple[tuple[str, bytes], ...], Mutant] = {}
    for _round in range(2):
        for one in _round_of(subject, whole, chance):
            key = tuple(sorted(one.files.items()))
            if one.files != whole and key not in found:
                found[key] = one
            if len(found) == most:
                return tuple(found.values())
    return tuple(found.values())


def _round_of(subject: Subject, whole: Mapping[str, bytes], chance: random.Random) -> Iterator[Mutant]:
    files = list(subject.files.values())
    for way in ("value", "line", "type", "order"):
        order = chance.sample(files, len(files))
        for file in order:
            change = _changed(file, way, chance)
            if change is not None and change[0] != file.content:
                yield Mutant({**whole, file.path: change[0]}, f"{file.path}: {change[1]}")
                break
    if len(files) > 1:
        file = chance.choice(files)
        if file.content:
            yield Mutant({**whole, file.path: b""}, f"{file.path}: emptied")
        yield from _of_trees(whole, chance, files)


def _of_trees(whole: Mapping[str, bytes], chance: random.Random, files: list[File]) -> Iterator[Mutant]:
    tree = [file for file in files if file.artifact.kind == "tree"]
    if not tree:
        return
    gone = chance.choice(tree)
    yield Mutant({path: data for path, data in whole.items() if path != gone.path}, f"{gone.path}: removed")
    moved = chance.choice(tree)
    rest = {path: data for path, data in whole.items() if path != moved.path}
    yield Mutant(
        {**rest, moved.path + ".moved": moved.content}, f"{moved.path}: renamed to {moved.path}.moved"
    )
    if len(tree) > 1:
        one, other = chance.sample(tree, 2)
        swapped = {**whole, one.path: other.content, other.path: one.content}
        yield Mutant(swapped, f"{one.path} and {other.path}: contents exchanged")


def _changed(file: File, way: str, chance: random.Random) -> Change:
    if file.language == "json":
        change = mutate_json.change(file.content, way, chance)
        if change is not None:
            return change
    if file.language == "notebook":
        return mutate_notebook.change(file.content, way, chance)
    if file.language == "python":
        change = mutate_code.change(file.content, way, chance)
        if change is not None:
            return change
    if file.language == "bytes":
        return _bytes(file.content, way, chance)
    return mutate_text.change(file.content, way, chance)


def _bytes(content: bytes, way: str, chance: random.Random) -> Change:
    if not content:
        return None
    place = chance.randrange(len(content))
    changes: dict[str, Callable[[], tuple[bytes, str]]] = {
        "value": lambda: (
            content[:place] + bytes([content[place] ^ _BYTE]) + content[place + 1 :],
            f"byte {place} inverted",
        ),
        "line": lambda: (content[:place], f"cut after {place} bytes"),
        "order": lambda: (content[::-1], "bytes in reverse order"),
    }
    return changes[way]() if way in changes else None
