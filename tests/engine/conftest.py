"""One engine fixture for both engines."""

from __future__ import annotations

import secrets

import anyio
import pytest
from contract_kit import IMAGE, MIB, USER, play_cat, play_shell

from scorehost.engine.door import ContainerSpec, Tmpfs
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.opening import open_engine


@pytest.fixture
async def memory(anyio_backend):
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.argv[0] == "cat", play_cat)
        engine.program(lambda launch: launch.argv[0] == "sh", play_shell)
        yield engine


@pytest.fixture
async def docker_engine(anyio_backend):
    async with open_engine() as engine:
        yield engine


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def engine(request):
    return request.getfixturevalue("memory" if request.param == "memory" else "docker_engine")


@pytest.fixture
async def make_spec(engine, job_id):
    """Gives specs of small containers that carry the test's own job id; removes what came of them."""
    async for make in specs(engine, job_id):
        yield make


@pytest.fixture
async def make_real_spec(docker_engine, job_id):
    """The same, on the real engine alone."""
    async for make in specs(docker_engine, job_id):
        yield make


async def specs(engine, job_id):
    image = await engine.image(IMAGE)
    labels = {"scorehost.job": job_id}

    def make(*command: str, **changes) -> ContainerSpec:
        values = {
            "name": f"scorehost-test-{secrets.token_hex(8)}",
            "image": image.id,
            "command": command or ("sleep", "1000"),
            "user": USER,
            "labels": labels,
            "env": {"GIVEN": "1"},
            "cleared_env": (),
            "workdir": "/attempt",
            "memory": 128 * MIB,
            "cpus": 1.0,
            "pids": 64,
            "shm": 16 * MIB,
            "volumes": ("/attempt",),
            "tmpfs": (Tmpfs("/tmp", 8 * MIB, 2048),),
        }
        return ContainerSpec(**{**values, **changes})

    yield make
    with anyio.CancelScope(shield=True):
        for row in await engine.list_containers(dict(labels)):
            await engine.remove(row.id)
