"""What the in-memory engine keeps: its containers, execs, planned faults and listeners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from scorehost.engine.door import ContainerSpec, ContainerState, EngineInfo, Event, Image, Listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from scorehost.engine.memory_files import MemoryFiles
    from scorehost.engine.memory_pipe import Pipe
    from scorehost.engine.memory_process import Context, Launch, Process

INIT_FOUND_NOTHING = 127
RUNTIME_FOUND_NOTHING = 126
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INFO = EngineInfo(
    endpoint="memory",
    version="memory",
    api_version="1.41",
    kernel="memory",
    architecture="amd64",
    operating_system="memory",
    cpus=4,
    memory_bytes=16 * 1024**3,
    default_runtime="memory",
    runtimes=("memory",),
    cgroup_version="2",
)


@dataclass(slots=True)
class MemoryContainer:
    """A container with its files, volumes and main process."""

    id: str
    spec: ContainerSpec
    image: Image
    files: MemoryFiles
    volumes: dict[str, str]  # volume's name -> target
    process: Process
    created: float
    following: Process | None = None  # of its next start, once somebody attached to one that has ended
    status: str = "created"
    oom_killed: bool = False
    execs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MemoryExec:
    """A process beside the main one."""

    container: MemoryContainer
    launch: Launch
    process: Process


@dataclass(frozen=True, slots=True)
class Armed:
    """An error that a call is to raise, before or after its work."""

    error: Exception
    after: bool


@dataclass(frozen=True, slots=True)
class Listener:
    """Somebody who wants the events of containers with these labels."""

    labels: Mapping[str, str]
    pipe: Pipe[Event]


async def events_of(pipe: Pipe[Event]) -> AsyncIterator[Event]:
    """The pipe's events until it ends."""
    while (event := await pipe.get()) is not None:
        yield event


async def sleep_program(context: Context) -> int:
    """What `sleep N` does."""
    words = context.launch.argv[1:]
    await anyio.sleep(float(words[0]) if words and words[0] != "infinity" else float("inf"))
    return 0


async def missing_program(context: Context) -> int:
    """What a program that does not exist does: init says so for a main one, the runtime for an exec."""
    if context.launch.main:
        await context.write_error(
            f"exec {context.launch.argv[0]} failed: No such file or directory\n".encode()
        )
        return INIT_FOUND_NOTHING
    await context.write(f"OCI runtime exec failed: {context.launch.argv[0]} not found in $PATH\r\n".encode())
    return RUNTIME_FOUND_NOTHING


def environment_of(container: MemoryContainer) -> dict[str, str]:
    """What its programs find: the image's variables that are not cleared, and its own."""
    image = {k: v for k, v in container.image.env.items() if k not in container.spec.cleared_env}
    return {"PATH": DEFAULT_PATH, "HOSTNAME": "host", **image, **container.spec.env}


def state_of(container: MemoryContainer) -> ContainerState:
    """Its state as the engine tells it."""
    return ContainerState(
        id=container.id,
        status=container.status,
        running=container.status == "running",
        exit_code=container.process.exit_code,
        oom_killed=container.oom_killed,
        error="",
    )


def listed_containers(
    containers: Iterable[MemoryContainer], labels: Mapping[str, str | None]
) -> list[Listed]:
    """Rows of those that carry all labels."""
    return [
        Listed(c.id, c.spec.name, "container", dict(c.spec.labels), c.created, c.status == "running")
        for c in containers
        if _carries(c, labels)
    ]


def listed_volumes(containers: Iterable[MemoryContainer], labels: Mapping[str, str | None]) -> list[Listed]:
    """Rows of the volumes of those that carry all labels: a volume has its container's."""
    return [
        Listed(name, name, "volume", dict(c.spec.labels), c.created)
        for c in containers
        if _carries(c, labels)
        for name in c.volumes
    ]


def _carries(container: MemoryContainer, labels: Mapping[str, str | None]) -> bool:
    """Whether the container has all labels; a value of None asks for the key alone."""
    own = container.spec.labels
    return all(key in own and value in {None, own[key]} for key, value in labels.items())
