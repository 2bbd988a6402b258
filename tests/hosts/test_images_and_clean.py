"""Images resolved once in a job, and leftovers removed, on the in-memory engine."""

from __future__ import annotations

import errno
from dataclasses import replace

import anyio
import pytest

from scorehost.engine.door import ContainerSpec
from scorehost.engine.memory import MemoryEngine
from scorehost.errors import AttemptFailed, EngineRefused, NotFound
from scorehost.files.lease import own_lease
from scorehost.hosts import images as hosts_images
from scorehost.hosts import labels
from scorehost.hosts.clean import clean, clean_job
from scorehost.hosts.images import Images
from scorehost.hosts.recipe import Recipe
from scorehost.model.failure import Phase, failure

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(anyio_backend):
    async with MemoryEngine() as engine:
        engine.images.add("scorehost/python:3")
        yield engine


async def together(count: int, call) -> list:
    found: list = []

    async def one():
        try:
            found.append(await call())
        except AttemptFailed as error:
            found.append(error.failure)

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return found


async def test_twenty_that_wait_for_one_image_cause_one_pull(engine, tmp_path):
    said: list[str] = []
    made = engine.images.add("python:3.12", pullable=True)
    images = Images(engine, tmp_path, said.append)
    found = await together(20, lambda: images.resolve("python:3.12", build_seconds=1))
    assert {image.id for image in found} == {made.id}
    assert len(found) == 20
    assert engine.calls["pull"] == 1
    assert said == ["pulling python:3.12"]


async def test_a_failure_to_pull_is_that_of_all_who_waited_and_says_the_registrys_words(engine, tmp_path):
    images = Images(engine, tmp_path)
    found = await together(20, lambda: images.resolve("nobody/nothing:1", build_seconds=1))
    assert engine.calls["pull"] == 1
    assert {failure.kind for failure in found} == {"image_pull_failed"}
    assert "pull access denied" in found[0].message
    assert "nobody/nothing:1" in found[0].message
    assert (found[0].phase.value, found[0].blame.value) == ("prepare", "environment")


async def test_an_image_that_is_present_is_not_pulled(engine, tmp_path):
    await Images(engine, tmp_path).resolve("scorehost/python:3", build_seconds=1)
    assert engine.calls["pull"] == 0


async def test_scorehosts_own_images_are_never_pulled(engine, tmp_path):
    engine.images.add("scorehost/python:4", pullable=True)
    with pytest.raises(AttemptFailed) as caught:
        await Images(engine, tmp_path).resolve("scorehost/python:4", build_seconds=1)
    assert caught.value.failure.kind == "image_missing"
    assert "make images" in caught.value.failure.hint
    assert engine.calls["pull"] == 0


async def test_a_recipe_is_built_again_when_an_image_that_an_onbuild_line_copies_from_changes(
    engine, tmp_path
):
    (tmp_path / "Dockerfile").write_text("FROM base:1\n")
    engine.images.add("base:1", on_build=("COPY --from=tools:1 /x /",))
    tags = []
    for kind in ("tools:1", "newer:1"):
        made = engine.images.add(kind)
        engine.images.present["tools:1"] = made
        found = await Images(engine, tmp_path).resolve(Recipe(tmp_path / "Dockerfile"), build_seconds=9)
        tags.append(found.reference)
    assert tags[0] != tags[1]


async def test_two_images_are_waited_for_side_by_side(engine, tmp_path):
    images = Images(engine, tmp_path)
    for name in ("a:1", "b:1"):
        engine.images.add(name, pullable=True)
    async with anyio.create_task_group() as group:
        for name in ("a:1", "b:1") * 3:
            group.start_soon(lambda name=name: images.resolve(name, build_seconds=1))
    assert engine.calls["pull"] == 2


def recipe(folder, text: str) -> Recipe:
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text(text)
    return Recipe(folder / "Dockerfile")


async def test_a_recipe_is_built_once_for_its_content(engine, tmp_path):
    text = "FROM scorehost/python:3\nENV A=1\n"
    one, same, other = (
        recipe(tmp_path / "one", text),
        recipe(tmp_path / "two", text),
        recipe(tmp_path / "three", text + "ENV B=2\n"),
    )
    images = Images(engine, tmp_path / "logs")
    found = await together(5, lambda: images.resolve(one, build_seconds=1))
    found += await together(5, lambda: images.resolve(same, build_seconds=1))
    assert len({image.id for image in found}) == 1
    assert engine.calls["build"] == 1
    assert (await images.resolve(other, build_seconds=1)).id != found[0].id
    again = await Images(engine, tmp_path / "logs").resolve(one, build_seconds=1)
    assert again.id == found[0].id
    assert engine.calls["build"] == 2
    assert again.reference.startswith("scorehost/built:")
    assert labels.RECIPE in again.labels


async def test_two_recipes_of_one_content_at_once_are_one_build_and_one_pull(engine, tmp_path):
    engine.images.add("base:1", pullable=True)
    recipes = [recipe(tmp_path / str(n), "FROM base:1\n") for n in range(4)]
    images = Images(engine, tmp_path / "logs")
    async with anyio.create_task_group() as group:
        for each in recipes:
            group.start_soon(lambda each=each: images.resolve(each, build_seconds=1))
    assert (engine.calls["pull"], engine.calls["build"]) == (1, 1)


async def test_a_broken_recipe_shows_its_last_lines_and_is_tried_once(engine, tmp_path):
    engine.images.failing_run = lambda line: 3 if line == "explode" else 0
    broken = recipe(tmp_path / "one", "FROM scorehost/python:3\nRUN explode\n")
    images = Images(engine, tmp_path / "logs")
    found = await together(5, lambda: images.resolve(broken, build_seconds=1))
    assert engine.calls["build"] == 1
    assert {failure.kind for failure in found} == {"image_build_failed"}
    assert "returned a non-zero code: 3" in found[0].message
    assert str(tmp_path / "logs") in found[0].hint


async def test_a_recipe_whose_base_is_missing_names_the_base(engine, tmp_path):
    broken = recipe(tmp_path / "one", "FROM nobody/base:1\n")
    with pytest.raises(AttemptFailed) as caught:
        await Images(engine, tmp_path / "logs").resolve(broken, build_seconds=1)
    assert caught.value.failure.kind == "image_pull_failed"
    assert "nobody/base:1" in caught.value.failure.message


async def test_a_recipe_that_is_gone_is_a_failure_of_the_image(engine, tmp_path):
    with pytest.raises(AttemptFailed) as caught:
        await Images(engine, tmp_path).resolve(Recipe(tmp_path / "no" / "Dockerfile"), build_seconds=1)
    assert caught.value.failure.kind == "image_build_failed"
    assert "Dockerfile" in caught.value.failure.message


@pytest.fixture
def clock(monkeypatch):
    """Time as the images see it: it stands but for their own waits, and for `clock.append(seconds)`."""
    passed: list[float] = []

    async def wait(seconds):
        passed.append(seconds)

    monkeypatch.setattr(hosts_images.anyio, "current_time", lambda: sum(passed))
    monkeypatch.setattr(hosts_images.anyio, "sleep", wait)
    return passed


async def failed_pull(images: Images, reference: str = "nobody/nothing:1"):
    with pytest.raises(AttemptFailed) as caught:
        await images.resolve(reference, build_seconds=1)
    return caught.value.failure


async def test_a_failed_pull_is_retryable_as_its_kind_is(engine, tmp_path):
    found = await failed_pull(Images(engine, tmp_path))
    assert (found.kind, found.retryable) == ("image_pull_failed", True)


async def test_the_attempt_that_is_made_again_asks_the_registry_again(engine, tmp_path, clock):
    images = Images(engine, tmp_path)
    await failed_pull(images)
    engine.images.add("nobody/nothing:1", pullable=True)
    clock.append(0.1)
    assert (await images.resolve("nobody/nothing:1", build_seconds=1)).reference == "nobody/nothing:1"
    assert engine.calls["pull"] == 2
    assert clock == [0.1, 0.9]  # the second pull comes a second after the first


async def test_a_registry_that_goes_on_refusing_is_asked_ever_more_seldom(engine, tmp_path, clock):
    images = Images(engine, tmp_path)
    for _ in range(100):
        await failed_pull(images)
        clock.append(1.0)
    # Pulls are due 1, 5 and 25 s after the first, second and third failure, and then 125 s after the fourth.
    assert engine.calls["pull"] == 4


async def test_an_image_that_somebody_pulled_meanwhile_is_taken_at_once(engine, tmp_path, clock):
    images = Images(engine, tmp_path)
    for _ in range(3):
        await failed_pull(images)
        clock.append(1e-6)
    pulls = engine.calls["pull"]
    engine.images.add("nobody/nothing:1")
    assert (await images.resolve("nobody/nothing:1", build_seconds=1)).reference == "nobody/nothing:1"
    assert engine.calls["pull"] == pulls


async def test_a_name_that_no_image_can_have_is_told_and_not_retried(engine, tmp_path):
    words = "The Docker engine refused to look: invalid reference format: must be lowercase (HTTP 400)"
    engine.fail("image", EngineRefused(words, status=400))
    found = await failed_pull(Images(engine, tmp_path), "Foo/Bar:1")
    assert (found.kind, found.retryable, found.message) == ("image_pull_failed", False, words)
    assert "Foo/Bar:1" in found.hint


async def test_a_base_in_quotes_is_read_and_told_without_them(engine, tmp_path):
    broken = recipe(tmp_path / "one", 'FROM "x"\n')
    engine.fail("image", EngineRefused("invalid reference format (HTTP 400)", status=400))
    with pytest.raises(AttemptFailed) as caught:
        await Images(engine, tmp_path / "logs").resolve(broken, build_seconds=1)
    assert (caught.value.failure.kind, "`x`" in caught.value.failure.hint) == ("image_pull_failed", True)


async def test_an_engine_that_breaks_is_no_missing_image(engine, tmp_path):
    engine.fail("image", EngineRefused("it broke (HTTP 500)", status=500))
    with pytest.raises(EngineRefused):
        await Images(engine, tmp_path).resolve("scorehost/python:3", build_seconds=1)


async def test_an_image_that_was_removed_is_built_again_for_the_next_host(engine, tmp_path):
    images = Images(engine, tmp_path / "logs")
    one = recipe(tmp_path / "one", "FROM scorehost/python:3\n")
    made = await images.resolve(one, build_seconds=1)
    engine.images.remove(made.reference)
    gone = failure(Phase.START, "start_failed", "the host cannot be started")
    with pytest.raises(AttemptFailed), images.using(made):
        raise AttemptFailed(gone) from NotFound("No such image", status=404)
    assert images.known(one) is None
    assert (await images.resolve(one, build_seconds=1)).id == made.id
    assert engine.calls["build"] == 2


async def test_a_host_that_fails_for_another_reason_leaves_its_image_known(engine, tmp_path):
    images = Images(engine, tmp_path)
    made = await images.resolve("scorehost/python:3", build_seconds=1)
    with pytest.raises(AttemptFailed), images.using(made):
        raise AttemptFailed(failure(Phase.START, "start_failed", "no room"))
    assert images.known("scorehost/python:3") == made


async def test_no_room_for_a_build_context_says_where(engine, tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(hosts_images, "TemporaryDirectory", full)
    one = recipe(tmp_path / "one", "FROM scorehost/python:3\n")
    with pytest.raises(AttemptFailed) as caught:
        await Images(engine, tmp_path / "logs").resolve(one, build_seconds=1)
    found = caught.value.failure
    assert (found.kind, "No space left on device" in found.message) == ("image_build_failed", True)
    assert "TMPDIR" in found.hint


# Leftovers

JOB = "20261130-074512-7f3a"
OTHER = "20261130-074512-0000"
DEAD = replace(own_lease(), start_ticks=own_lease().start_ticks + 1)
FOREIGN = replace(own_lease(), machine="another")


async def left(engine, owner: object, *, job: str = JOB) -> str:
    image = await engine.image("scorehost/python:3")
    marks = {labels.JOB: job, labels.OWNER: str(owner)}
    spec = ContainerSpec(
        name=f"scorehost-{job}-{engine.calls['create']}",
        image=image.id,
        command=("sleep", "infinity"),
        user=1 << 20,
        labels=marks,
        env={},
        cleared_env=(),
        workdir="/attempt",
        memory=1 << 24,
        cpus=1,
        pids=8,
        shm=1 << 20,
        volumes=("/attempt",),
    )
    made = await engine.create(spec)
    await engine.start(made)
    return made


async def present(engine) -> set[str]:
    return {row.id for row in await engine.list_containers({})}


async def test_only_what_dead_jobs_left_is_removed(engine):
    dead, alive = await left(engine, DEAD), await left(engine, own_lease())
    foreign, unknown = await left(engine, FOREIGN), await left(engine, "no lease")
    report = await clean(engine)
    assert [row.id for row in report.removed if row.kind == "container"] == [dead]
    assert await present(engine) == {alive, foreign, unknown}
    reasons = {row.id: reason for row, reason in report.left if row.kind == "container"}
    assert f"process {own_lease().pid}" in reasons[alive]
    assert "another machine" in reasons[foreign]
    assert "--force --job" in reasons[foreign]
    assert "--force --job" in reasons[unknown]


async def test_force_needs_a_job_and_then_removes_its_own_only(engine):
    alive, foreign = await left(engine, own_lease()), await left(engine, FOREIGN)
    other = await left(engine, FOREIGN, job=OTHER)
    await clean(engine, force=True)
    assert await present(engine) == {alive, foreign, other}
    await clean(engine, job=JOB, force=True)
    assert await present(engine) == {other}


async def test_a_job_narrows_what_is_removed(engine):
    await left(engine, DEAD)
    other = await left(engine, DEAD, job=OTHER)
    await clean(engine, job=JOB)
    assert await present(engine) == {other}


async def test_what_is_younger_than_asked_stays(engine):
    dead = await left(engine, DEAD)
    report = await clean(engine, older_than=3600)
    assert await present(engine) == {dead}
    assert report.removed == ()
    assert "younger" in report.left[0][1]


async def test_what_the_engine_will_not_give_up_is_told_and_the_rest_goes(engine):
    first, second = await left(engine, DEAD), await left(engine, DEAD)
    engine.fail("remove", EngineRefused("device busy", status=500))
    report = await clean(engine)
    assert await present(engine) == {first}
    assert [row.id for row in report.removed if row.kind == "container"] == [second]
    assert report.left[0][1] == "device busy"


async def test_a_jobs_own_end_removes_its_own_and_names_what_it_could_not(engine):
    mine, other = await left(engine, own_lease()), await left(engine, own_lease(), job=OTHER)
    engine.fail("remove", EngineRefused("device busy", status=500))
    assert len(await clean_job(engine, JOB)) >= 1
    assert await present(engine) == {mine, other}
    assert await clean_job(engine, JOB) == []
    assert await present(engine) == {other}
