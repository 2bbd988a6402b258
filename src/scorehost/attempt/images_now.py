"""Which images the hosts of a task would get now, where the engine can tell without pulling or building."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.aio.threads import in_thread
from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints
from scorehost.errors import EngineRefused, NotFound, UsageError
from scorehost.hosts.images import built_tag

if TYPE_CHECKING:
    import anyio

    from scorehost.engine.door import Engine
    from scorehost.hosts.images import Choice
    from scorehost.hosts.recipe import Recipe
    from scorehost.spec.dataset import Task
    from scorehost.spec.profiles import Profiles

NOT_BUILT = ""


async def images_now(
    engine: Engine, task: Task, profiles: Profiles, *, files: anyio.CapacityLimiter
) -> dict[str, str]:
    """Host name -> id of its image; `NOT_BUILT` for a recipe that no image on the engine was built from.

    A host is absent when nobody can tell: its image would have to be pulled first. Raises EngineUnreachable
    and EngineTimeout.
    """
    evaluator = evaluator_blueprint(task, profiles)
    plans = {evaluator.name: evaluator, **named_blueprints(task, profiles)}
    found: dict[str, str] = {}
    for name, plan in plans.items():
        image = await _image(engine, plan.image, files)
        if image is not None:
            found[name] = image
    return found


async def _image(engine: Engine, choice: Choice, files: anyio.CapacityLimiter) -> str | None:
    if isinstance(choice, str):
        return await _present(engine, choice)
    return await _built(engine, choice, files)


async def _present(engine: Engine, reference: str) -> str | None:
    try:
        return (await engine.image(reference)).id
    except EngineRefused:
        return None


async def _built(engine: Engine, recipe: Recipe, files: anyio.CapacityLimiter) -> str | None:
    try:
        bases: dict[str, str] = {}
        for base in await in_thread(recipe.bases, files):
            found = await _present(engine, base)
            if found is None:
                return None  # the base would be pulled first, and may be any
            bases[base] = found
        digest = await in_thread(lambda: recipe.digest(bases), files)
        return (await engine.image(built_tag(digest))).id
    except NotFound:
        return NOT_BUILT
    except (UsageError, OSError):
        return NOT_BUILT  # a recipe that cannot be read is not what it was
