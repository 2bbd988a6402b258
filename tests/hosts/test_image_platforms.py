"""Images for another platform, and images that recipes left behind, on the in-memory engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scorehost.api.diagnosis import clean, doctor
from scorehost.engine.door import ContainerSpec, Image
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_state import INFO
from scorehost.errors import AttemptFailed
from scorehost.files.lease import own_lease
from scorehost.hosts import labels
from scorehost.hosts.emulation import runs
from scorehost.hosts.images import Images
from scorehost.hosts.platforms import foreign
from scorehost.model.failure import Phase, failure

JOB = "20260101-000000-aaaa"
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("image", "system", "machine", "said"),
    [
        ("amd64", "linux", "x86_64", ""),
        ("arm64", "linux", "aarch64", ""),
        ("ppc64le", "linux", "ppc64le", ""),
        ("", "linux", "x86_64", ""),
        ("amd64", "linux", "", ""),
        ("arm64", "linux", "x86_64", "linux/arm64, and the engine's machine is linux/amd64"),
        ("amd64", "linux", "aarch64", "linux/amd64, and the engine's machine is linux/arm64"),
        ("386", "linux", "x86_64", "linux/386, and the engine's machine is linux/amd64"),
        ("amd64", "windows", "x86_64", "windows/amd64, and the engine's machine is linux/amd64"),
    ],
)
def test_an_image_for_another_platform_is_told_by_both_names(image, system, machine, said):
    made = Image("sha256:1", "i", (), image, {}, (), {}, operating_system=system)
    assert foreign(made, replace(INFO, architecture=machine)) == said


@pytest.mark.parametrize("code", [0, 126])
async def test_whether_a_machine_runs_a_foreign_image_is_decided_by_true_in_it(code):
    async def play(_context):
        return code

    async with MemoryEngine() as engine:
        image = engine.images.add("odd:1", architecture="arm64")
        engine.program(lambda launch: launch.argv == ("true",), play)
        assert await runs(engine, image) == (code == 0)
        assert await engine.list_containers({labels.JOB: None}) == []


@pytest.mark.parametrize(
    ("phase", "kind", "changed"),
    [
        (Phase.START, "image_unusable", True),
        (Phase.START, "start_failed", True),
        (Phase.START, "engine_lost", False),
        (Phase.EVALUATE, "host_lost", False),
    ],
)
async def test_a_host_that_cannot_start_for_its_platform_says_so(tmp_path, phase, kind, changed):
    async with MemoryEngine() as engine:
        images = Images(engine, tmp_path, info=await engine.info())
        image = engine.images.add("odd:1", architecture="arm64")
        with pytest.raises(AttemptFailed) as caught, images.using(image):
            raise AttemptFailed(failure(phase, kind, "exec format error"))
    found = caught.value.failure
    assert (found.kind == "image_unusable") == (changed or kind == "image_unusable")
    both = "linux/arm64, and the engine's machine is linux/amd64" in found.message
    assert (both, found.blame.value == "environment") == (changed, kind != "engine_lost")


def opened(engine):
    class Open:
        async def __aenter__(self):
            return engine

        async def __aexit__(self, *_):
            return None

    return lambda _host: Open()


async def host(engine, image, lease):
    spec = ContainerSpec(
        name="h",
        image=image,
        command=("sleep", "1"),
        user=1,
        labels={
            **labels.host_labels(job="20260101-000000-aaaa", slot="s", host="h"),
            labels.OWNER: str(lease),
        },
        env={},
        cleared_env=(),
        workdir="/",
        memory=1,
        cpus=1,
        pids=1,
        shm=1,
    )
    await engine.create(spec)


async def test_images_that_recipes_left_are_counted_and_go_when_nobody_uses_them():
    async with MemoryEngine() as engine:
        engine.images.add("scorehost/python:3")
        for name in ("scorehost/built:one", "scorehost/built:two", "derived:1"):
            engine.images.add(name, labels={labels.RECIPE: "d"})
        dead = replace(own_lease(), pid=2**22 + 1)
        await host(engine, engine.images.present["scorehost/built:two"].id, dead)
        (told,) = [each for each in await doctor(engine=opened(engine)) if "built from recipes" in each.text]
        assert told.text.startswith("2 images built from recipes (scorehost/built), ")
        assert "scorehost clean --images" in told.hint
        report = await clean(engine=opened(engine), images=True)
        assert [image.name for image in report.removed] == ["scorehost/built:one"]
        assert [image.name for image, _ in report.left] == ["scorehost/built:two"]
        assert set(engine.images.present) == {"scorehost/python:3", "scorehost/built:two", "derived:1"}


async def test_while_a_job_may_be_alive_no_image_goes():
    async with MemoryEngine() as engine:
        built = engine.images.add("scorehost/built:one", labels={labels.RECIPE: "d"})
        other = engine.images.add("other:1")
        await host(engine, other.id, own_lease())
        report = await clean(engine=opened(engine), images=True)
        assert report.removed == ()
        assert report.left[0][1] == f"a job runs and may use it: {JOB}"
        assert built.reference in engine.images.present
