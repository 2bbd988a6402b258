"""Which images hosts would get now is told only where the engine knows it without pulling or building."""

from __future__ import annotations

import anyio
import pytest

from scorehost.attempt.images_now import NOT_BUILT, images_now
from scorehost.engine.memory import MemoryEngine
from scorehost.hosts.images import built_tag
from scorehost.hosts.recipe import Recipe
from scorehost.spec.dataset import Task
from scorehost.spec.profiles import EvaluateHost, Profiles
from scorehost.spec.task import Evaluation, NamedEnvironment, TaskSpec

BASE = "scorehost/python:3"
PROFILES = Profiles(evaluate_host=EvaluateHost(docker_image=BASE))

pytestmark = pytest.mark.anyio


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "environment").mkdir()
    path = tmp_path / "environment/Dockerfile"
    path.write_text(f"FROM {BASE}\nRUN true\n")
    return path


def task(tmp_path, recipe):
    environments = {
        "audit": NamedEnvironment(docker_image="audit:1"),
        "own": NamedEnvironment(dockerfile="x"),
    }
    spec = TaskSpec(task_id="a", evaluation=Evaluation(environments=environments))
    return Task(spec=spec, folder=tmp_path, gold={}, code={}, recipes={"own": recipe})


async def now(tmp_path, recipe, add):
    async with MemoryEngine() as engine:
        added = add(engine.images)
        limiter = anyio.CapacityLimiter(1)
        return added, await images_now(engine, task(tmp_path, recipe), PROFILES, files=limiter)


async def test_present_images_are_told_by_id_and_a_missing_one_is_not_guessed(tmp_path, recipe):
    base, found = await now(tmp_path, recipe, lambda images: images.add(BASE))
    assert found == {"evaluator": base.id, "own": NOT_BUILT}


async def test_the_image_that_was_built_from_the_recipe_as_it_is_now_is_told(tmp_path, recipe):
    def add(images):
        base = images.add(BASE)
        return images.add(built_tag(Recipe(recipe).digest({BASE: base.id})))

    built, found = await now(tmp_path, recipe, add)
    assert found["own"] == built.id


async def test_an_image_of_the_recipe_as_it_was_is_not(tmp_path, recipe):
    def add(images):
        base = images.add(BASE)
        old = images.add(built_tag(Recipe(recipe).digest({BASE: base.id})))
        recipe.write_text(f"FROM {BASE}\nRUN false\n")
        return old

    _, found = await now(tmp_path, recipe, add)
    assert found["own"] == NOT_BUILT


async def test_without_its_base_nobody_can_tell(tmp_path, recipe):
    _, found = await now(tmp_path, recipe, lambda images: images.add("audit:1"))
    assert found.keys() == {"audit"}
