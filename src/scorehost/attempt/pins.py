"""The images and recipes that the hosts of tasks rest on, as the engine and the disk have them now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints, run_blueprint
from scorehost.errors import NotFound
from scorehost.hosts.recipe import Recipe
from scorehost.model.lock import ImagePin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.engine.door import Engine
    from scorehost.spec.dataset import Task
    from scorehost.spec.profiles import Profiles


@dataclass(frozen=True, slots=True)
class Pins:
    """`images` by reference, `recipes` by task and host; `missing` are images that are not on the engine."""

    images: dict[str, ImagePin] = field(default_factory=dict)
    recipes: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


async def pins_now(engine: Engine, tasks: Iterable[Task], profiles: Profiles) -> Pins:
    """Reads recipes (plain blocking code), asks the engine for each image once, pulls and builds nothing.

    A recipe whose base is missing has no digest: the base is in `missing`. Raises EngineError, and UsageError
    for a recipe that cannot be read.
    """
    found = Pins()
    for task in tasks:
        plans = [evaluator_blueprint(task, profiles), *named_blueprints(task, profiles).values()]
        if task.run_script is not None:
            plans.append(run_blueprint(task, profiles))
        for plan in plans:
            if not isinstance(plan.image, Recipe):
                await _pin(engine, plan.image, found)
                continue
            bases = plan.image.bases()
            for base in bases:
                await _pin(engine, base, found)
            if all(base in found.images for base in bases):
                digest = plan.image.digest({base: found.images[base].id for base in bases})
                found.recipes.setdefault(task.task_id, {})[plan.name] = digest
    return found


async def _pin(engine: Engine, reference: str, found: Pins) -> None:
    if reference in found.images or reference in found.missing:
        return
    try:
        image = await engine.image(reference)
    except NotFound:
        found.missing.append(reference)
        return
    found.images[reference] = ImagePin(id=image.id, digests=tuple(sorted(image.repo_digests)))


def references(tasks: Iterable[Task], profiles: Profiles) -> list[str]:
    """Every image that tasks, profile and recipes name, in order, once. UsageError as above."""
    found: dict[str, None] = {}
    for task in tasks:
        plans = [evaluator_blueprint(task, profiles), *named_blueprints(task, profiles).values()]
        if task.run_script is not None:
            plans.append(run_blueprint(task, profiles))
        for plan in plans:
            names = plan.image.bases() if isinstance(plan.image, Recipe) else (plan.image,)
            found.update(dict.fromkeys(names))
    return list(found)
