"""What an image has where scorehost lays its own folders, on the in-memory engine."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from scorehost.engine.door import Image, Place
from scorehost.engine.memory import MemoryEngine
from scorehost.errors import AttemptFailed
from scorehost.hosts.blueprint import Blueprint, Users
from scorehost.hosts.host import Site, made_host
from scorehost.hosts.memory_watch import watch_memory
from scorehost.hosts.recipe import Recipe
from scorehost.model.limits import Limits

pytestmark = pytest.mark.anyio
FOLDER = Place("folder", 0o755)


def plan(**values) -> Blueprint:
    return Blueprint(name="work", image="odd:1", limits=Limits(), tmpfs_mb=16, **values)


@asynccontextmanager
async def plain_site(engine):
    async with watch_memory(engine, "j") as memory:
        yield Site(engine, memory, "j", "s", warn=print, timing=lambda *_: None)


async def made(places: dict[str, Place], **values) -> str:
    """What an attempt says that makes a host of an image with these places; "" when the host can be made."""
    async with MemoryEngine() as engine, plain_site(engine) as site:
        image = engine.images.add("odd:1", volumes=("/data",))
        engine.images.places = {(image.id, path): place for path, place in places.items()}
        try:
            async with made_host(site, plan(**values), image, {}, workspace_bytes=0):
                return ""
        except AttemptFailed as error:
            return f"{error.failure.kind}: {error.failure.message}"


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({}, ""),
        ({"/attempt": Place("folder", 0o777), "/tmp": FOLDER, "/data": Place("folder", 0o700)}, ""),
        ({"/attempt": Place("link", 0o777, "/x"), "/x": FOLDER}, "a link to /x at /attempt"),
        ({"/attempt": Place("file", 0o644)}, "a file at /attempt"),
        ({"/tmp": Place("folder", 0o555)}, "a folder /tmp with mode 0555"),
        ({"/data": Place("folder", 0o500)}, "a folder /data with mode 0500"),
        ({"/srv": Place("link", 0o777, "real"), "/real": FOLDER}, ""),
        ({"/srv": Place("link", 0o777, "/real"), "/real": Place("file", 0o644)}, "no folder at /srv"),
        ({"/srv": Place("link", 0o777, "/gone")}, ""),
        ({"/srv": Place("link", 0o777, "/srv")}, "no folder at /srv"),
    ],
)
async def test_an_image_that_leaves_no_room_is_unusable_before_anything_is_uploaded(places, said):
    found = await made(places, scratch=("/srv",))
    assert said in found
    assert bool(said) == found.startswith("image_unusable: the image odd:1 of ")


async def test_an_unusable_image_is_named_by_its_host_and_what_to_mend_by_its_recipe_where_there_is_one(
    tmp_path,
):
    said = []
    for source in ("odd:1", Recipe(tmp_path / "environment/work/Dockerfile")):
        async with MemoryEngine() as engine, plain_site(engine) as site:
            image = engine.images.add("odd:1")
            engine.images.places = {(image.id, "/tmp"): Place("folder", 0o555)}
            blueprint = replace(plan(), image=source)
            with pytest.raises(AttemptFailed) as raised:
                async with made_host(site, blueprint, image, {}, workspace_bytes=0):
                    pass
            said.append((raised.value.failure.message.split(" has ")[0], raised.value.failure.hint))
    assert said == [
        ("the image odd:1 of work", "Mend it in a recipe: `FROM odd:1`, then a RUN line."),
        (
            "the image that environment/work/Dockerfile makes of work",
            "Mend it in environment/work/Dockerfile, by a RUN line.",
        ),
    ]


async def test_an_image_is_looked_at_once():
    async with MemoryEngine() as engine, plain_site(engine) as site:
        image = engine.images.add("odd:1")
        for _ in range(2):
            async with made_host(site, plan(), image, {}, workspace_bytes=0):
                pass
        assert engine.calls["place"] == len(["/attempt", "/tmp"])


def test_places_in_memory_belong_to_whoever_works_in_the_host():
    image = Image("sha256:1", "i", (), "amd64", {}, ("/data",), {})
    users = Users(2_000_000, 2_000_001)
    for evaluator, owner in ((False, users.execs), (True, users.main)):
        spec = plan(scratch=("/srv",), evaluator=evaluator).container(
            image=image, users=users, labels={}, workspace_bytes=0
        )
        assert {place.target: place.uid for place in spec.tmpfs} == dict.fromkeys(
            ("/tmp", "/srv", "/data", "/attempt/output"), owner
        )
