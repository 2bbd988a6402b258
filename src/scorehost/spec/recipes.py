"""Recipes of images: where a Dockerfile may lie, and what it must not copy."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.spec.files import KEY_FILE, SOLUTIONS, collect, relative_path_fault
from scorehost.spec.problems import Place, Problems

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLD = "evaluation"
_PRIVATE = (GOLD, *SOLUTIONS, KEY_FILE)
_MAX_BYTES = 1_048_576
_MOUNT_SOURCE = re.compile(r"--mount=\S*?\b(?:source|src)=([^,\s]+)")


def resolve_in(text: str, task: Path, dataset: Path) -> tuple[Path | None, str]:
    """Where a path of task.yaml leads, first in the task, then in the dataset; else None and why."""
    fault = relative_path_fault(text)
    if fault:
        return None, f"the path {fault}"
    if any(part in _PRIVATE for part in text.split("/")):
        return None, f"`{text[:60]}` lies below {GOLD}/ or a solution, which no image may hold"
    for root in (task, dataset):
        if (root / text).exists():
            return root / text, ""
    return None, f"`{text[:60]}` does not exist"


def held_private(folder: Path, *, task: Path, dataset: Path) -> Path | None:
    """The first place of gold or a solution that a build which sees `folder` would see; None for a sound one.

    Those of the task, of the dataset and of every other task, and whatever way a link leads.
    """
    seen, tasks = folder.resolve(), task.parent.resolve()
    roots = [task, dataset]
    if tasks.is_relative_to(seen):
        return task.parent
    if seen.is_relative_to(tasks):
        roots.append(tasks / seen.relative_to(tasks).parts[0])
    places = [root / name for root in roots for name in _PRIVATE]
    for place in places:
        real = place.resolve()
        if place.exists() and (real.is_relative_to(seen) or seen.is_relative_to(real)):
            return place
    return None


def check_recipe(recipe: Path, *, task: Path, dataset: Path, shown: str, problems: Problems) -> None:
    """Adds what is wrong with a Dockerfile and its build context, which is its folder."""
    context = recipe.parent
    held = held_private(context, task=task, dataset=dataset)
    if held is None and (task / "evaluator.py").exists() and task.is_relative_to(context):
        held = task / "evaluator.py"
    if held is not None:
        name = held.relative_to(context) if held.is_relative_to(context) else held.name
        text = f"its folder is the build context and holds {name}"
        problems.add(Place(shown), "", text, "Move the Dockerfile to environment/")
        return
    collect(context, within=context, shown=str(Path(shown).parent), problems=problems)
    try:
        with recipe.open("rb") as stream:
            text = stream.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        problems.add(Place(shown), "", f"cannot be read: {error.strerror}", "Make it a readable file")
        return
    for line, source in _sources(text):
        for name in _PRIVATE:
            if name in source.split("/"):
                problems.add(Place(shown, line, 1), "", f"copies {name}/ into the image", "Remove the line")


def _sources(text: str) -> Iterator[tuple[int, str]]:
    """Line and path of everything that a Dockerfile takes from its build context."""
    for line, instruction in _instructions(text):
        word, _, rest = instruction.partition(" ")
        if word.upper() == "RUN":
            for source in _MOUNT_SOURCE.findall(rest):
                yield line, source
        if word.upper() not in {"COPY", "ADD"}:
            continue
        arguments = _arguments(rest)
        if not any(argument.startswith("--from=") for argument in arguments):
            for source in arguments[:-1]:
                yield line, source


def _arguments(rest: str) -> list[str]:
    before, bracket, after = rest.partition("[")
    if bracket and all(flag.startswith("--") for flag in before.split()):
        try:
            listed = json.loads(bracket + after)
        except ValueError:
            listed = None
        if isinstance(listed, list):
            return [*before.split(), *(str(item) for item in listed)]
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """Instructions with the line that each begins in; continued lines joined, comments left out."""
    joined, start = "", 0
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        start = start or number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield start, " ".join((joined + line).split())
        joined, start = "", 0
    if joined:
        yield start, " ".join(joined.split())
