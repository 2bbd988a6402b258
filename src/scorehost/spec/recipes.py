"""Recipes of images: where a Dockerfile may lie, and what it must not copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.spec.dockerfile import Instruction, bases, read
from scorehost.spec.files import KEY_FILE, SOLUTIONS, collect, relative_path_fault
from scorehost.spec.image_names import HINT, reference_fault
from scorehost.spec.problems import Place, Problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GOLD = "evaluation"
_PRIVATE = (GOLD, *SOLUTIONS, KEY_FILE)
_MAX_BYTES = 1_048_576
_NEEDS = "which only BuildKit can build; scorehost uses the engine's classic builder"
_WITHOUT = "Write it without, or build the image yourself and name it by `docker_image`"
_PUT_INTO_FILE = "Put the text into a file beside the recipe and COPY it, or join the lines with `&& \\`"
_FROM = "Begin with `FROM scorehost/python:3`, or another image"
# Instructions of the classic builder with the flags that it takes.
_PLAIN = """
ARG CMD ENTRYPOINT ENV EXPOSE LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR
"""
_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_PLAIN.split(), frozenset()),
    "FROM": frozenset({"platform"}),
    "ADD": frozenset({"chown"}),
    "COPY": frozenset({"chown", "from"}),
    "HEALTHCHECK": frozenset({"interval", "timeout", "start-period", "start-interval", "retries"}),
}


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
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        problems.add(Place(shown), "", f"cannot be read: {error.strerror}", "Make it a readable file")
        return
    if len(data) > _MAX_BYTES:
        fault, hint = f"is larger than {_MAX_BYTES} bytes", "Keep long material in a file of its own"
        problems.add(Place(shown), "", fault, hint)
        return
    if b"\0" in data:  # other encodings stand in comments only, and the engine does not mind them there
        problems.add(Place(shown), "", "is no text in UTF-8 (UTF-16, perhaps)", "Save the file as UTF-8")
        return
    instructions = read(data.decode("utf-8", "replace"))
    if not instructions:
        problems.add(Place(shown), "", "has no instruction in it", _FROM)
        return
    told: set[int] = set()
    for faults in (_private(instructions), _unbuildable(instructions), _bad_bases(instructions)):
        found = [fault for fault in faults if fault[0] not in told]  # the gravest is enough for one line
        told |= {line for line, _, _ in found}
        for line, fault, hint in found:
            problems.add(Place(shown, line, 1), "", fault, hint)


def unread_ignore_files(recipes: Iterable[Path], task: Path, task_id: str) -> list[str]:
    """What to say of a .dockerignore beside a recipe: the docker command reads it, the engine does not."""
    found = []
    for recipe in recipes:
        for name in (".dockerignore", f"{recipe.name}.dockerignore"):
            if (recipe.parent / name).exists():
                place = os.path.relpath(recipe.parent / name, task)
                text = f"{task_id}: {place} is not read: the whole folder is the build context"
                found.append(f"{text}; move what no image may hold out of it")
    return list(dict.fromkeys(found))


Fault = tuple[int, str, str]  # line, what is wrong, what to do


def _private(instructions: tuple[Instruction, ...]) -> Iterator[Fault]:
    for each in instructions:
        for source in _sources(each):
            for name in _PRIVATE:
                if name in source.split("/"):
                    yield each.line, f"copies {name}/ into the image", "Remove the line"


def _sources(each: Instruction) -> Iterator[str]:
    """The paths that an instruction takes from the build context."""
    if each.word == "ONBUILD":
        yield from (source for inner in read(each.rest) for source in _sources(inner))
    elif each.word == "RUN":
        for name, value in each.flags:
            options = dict(part.partition("=")[::2] for part in value.split(",")) if name == "mount" else {}
            yield from (options[key] for key in ("source", "src") if key in options)
    elif each.word in {"COPY", "ADD"} and not each.flag("from"):
        yield from each.arguments[:-1]


def _unbuildable(instructions: tuple[Instruction, ...]) -> Iterator[Fault]:
    """What the engine's classic builder does not know, each with its line."""
    for each in instructions:
        if each.word not in _FLAGS:
            text = f"unknown instruction `{each.word[:40]}`"
            yield each.line, text, "Correct it; a long line needs a `\\` at its end"
            continue
        if each.here_document:
            yield each.line, f"a here-document after {each.word}, {_NEEDS}", _PUT_INTO_FILE
            return  # what follows may be its text
        for name, _ in each.flags:
            if name not in _FLAGS[each.word]:
                yield each.line, f"`{each.word} --{name[:40]}`, {_NEEDS}", _WITHOUT


def _bad_bases(instructions: tuple[Instruction, ...]) -> Iterator[Fault]:
    known = [each for each in instructions if each.word in _FLAGS]
    if known and not any(each.word == "FROM" for each in known):
        yield known[0].line, "there is no FROM", _FROM
    for base in bases(instructions):
        if not base.name:
            text = f"`{base.written[:60]}` is empty here: no ARG before the first FROM gives it a value"
            yield base.line, text, "Write `ARG NAME=default` above FROM: scorehost passes no build arguments"
        elif fault := reference_fault(base.name):
            yield base.line, f"`{base.name[:80]}` cannot be the name of an image: {fault}", HINT
