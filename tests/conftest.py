"""What every test stands on: an event loop, an engine where one is asked for, nothing left behind on it."""

from __future__ import annotations

import functools
import os

import anyio
import pytest

from scorehost.engine.opening import open_engine
from scorehost.errors import ScorehostError
from scorehost.files.lease import own_lease
from scorehost.model.ids import new_job_id

IMAGE = "scorehost/python:3"
JOB_LABEL = "scorehost.job"
OWNER_LABEL = "scorehost.owner"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@functools.cache
def missing_engine() -> str:
    """Why tests that need an engine cannot run here; empty when they can."""

    async def look() -> None:
        async with open_engine() as engine:
            await engine.image(IMAGE)

    try:
        anyio.run(look)
    except ScorehostError as error:
        return str(error)
    return ""


def pytest_runtest_setup(item):
    if item.get_closest_marker("docker") and missing_engine():
        reason = f"no engine with {IMAGE}: {missing_engine()}"
        if os.environ.get("SCOREHOST_REQUIRE_DOCKER") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def own_state_folder(tmp_path_factory, monkeypatch):
    """What scorehost keeps for a user, such as the gold.key of a dataset that cannot be written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))


@pytest.fixture
def job_id():
    """A job's id that no other test of any run has; what carries it must be gone when the test ends."""
    return new_job_id()


@pytest.fixture(autouse=True)
def nothing_left(request):
    """After a docker test, nothing of this process or of the test's own job is left on the engine."""
    if not request.node.get_closest_marker("docker"):
        yield
        return
    job = request.getfixturevalue("job_id")
    yield
    left = anyio.run(labelled_objects, job)
    assert left == [], "left on the engine"


async def labelled_objects(job: str) -> list[tuple[str, str, dict[str, str]]]:
    """Containers and volumes that carry the job's id or this process's lease."""
    owner = str(own_lease())
    async with open_engine() as engine:
        label: dict[str, str | None] = {JOB_LABEL: None}
        found = [*await engine.list_containers(label), *await engine.list_volumes(label)]
    return [
        (row.kind, row.name, dict(row.labels))
        for row in found
        if row.labels[JOB_LABEL] == job or row.labels.get(OWNER_LABEL) == owner
    ]
