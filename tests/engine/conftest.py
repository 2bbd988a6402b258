"""One engine fixture for both engines, and what the contract's containers run."""

from __future__ import annotations

import io
import secrets
import tarfile

import anyio
import pytest

from scorehost.engine.door import ContainerSpec, Tmpfs
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.opening import open_engine

IMAGE = "scorehost/python:3"
MIB = 1024 * 1024
USER = 200_001
BOTH_STREAMS = "echo out; echo err >&2; exit 3"
PRINT_ENV = "env"
SHOW_FILE = "cat /attempt/given/file"
FLOOD = "head -c 3000000 /dev/zero; echo end"


def tar_of(files: dict[str, bytes]) -> bytes:
    """A tar archive with these files and the folders above them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in sorted({name.rpartition("/")[0] for name in files} - {""}):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


async def play_cat(context):
    while data := await context.read():
        await context.write(data)


async def play_shell(context):
    script = context.launch.argv[2]
    if script == BOTH_STREAMS:
        await context.write(b"out\n")
        await context.write_error(b"err\n")
        return 3
    if script == PRINT_ENV:
        for name, value in context.launch.env.items():
            await context.write(f"{name}={value}\n".encode())
        return 0
    if script == SHOW_FILE:
        await context.write(context.files.read("/attempt/given/file"))
        return 0
    assert script == FLOOD
    await context.write(bytes(3_000_000))
    await context.write(b"end\n")
    return 0


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


async def read_all(stream) -> dict[str, bytes]:
    """Everything on both streams until their end."""
    found = {"stdout": b"", "stderr": b""}
    while (chunk := await stream.receive()) is not None:
        assert 0 < len(chunk.data) <= 64 * 1024
        found[chunk.stream] += chunk.data
    return found


async def exit_code(engine, exec_id: str) -> int:
    """The code of an exec whose output has ended; Docker tells it some milliseconds later."""
    with anyio.fail_after(10):
        while (code := await engine.exec_exit_code(exec_id)) is None:
            await anyio.sleep(0.01)
    return code
