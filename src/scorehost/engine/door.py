"""The door to Docker: the values that pass it and the protocol that every engine keeps.

Methods raise only `EngineUnreachable`, `EngineTimeout`, `EngineRefused` (with `NotFound`, `Conflict`).
All are safe to cancel: what one was about to make is taken back, or carries its labels, so that
`list_containers` finds it. Times are seconds, sizes bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path


def unheard(_words: str) -> None:
    """For whoever does not ask what an engine says beside its answer."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What the engine says of itself and its machine."""

    endpoint: str
    version: str
    api_version: str
    kernel: str
    architecture: str
    operating_system: str
    cpus: int
    memory_bytes: int
    default_runtime: str
    runtimes: tuple[str, ...]
    cgroup_version: str
    warnings: tuple[str, ...] = ()
    security: tuple[str, ...] = ()  # what it has on: seccomp, apparmor, userns, rootless, …

    @property
    def maps_users(self) -> bool:
        """Whether users of its containers are a range of the machine's: only 65,536 of them exist then."""
        return not {"userns", "rootless"}.isdisjoint(self.security)


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is present on the engine."""

    id: str
    reference: str
    repo_digests: tuple[str, ...]
    architecture: str
    env: Mapping[str, str]
    volumes: tuple[str, ...]
    labels: Mapping[str, str]
    on_build: tuple[str, ...] = ()  # instructions that a recipe which begins with it carries out
    operating_system: str = "linux"


@dataclass(frozen=True, slots=True)
class Tmpfs:
    """A writable place in memory."""

    target: str
    size: int
    inodes: int
    mode: int = 0o1777
    uid: int = 0
    executable: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container as the hosts layer wants it.

    What is not here is fixed by the engine layer (`container_config.py`): read-only root, no
    capabilities, no new privileges, init, no log, private namespaces.

    `volumes` are paths that get an empty anonymous volume each, labelled, never filled from the image, and
    removed with the container.
    """

    name: str
    image: str  # an image id
    command: tuple[str, ...]
    user: int
    labels: Mapping[str, str]
    env: Mapping[str, str]
    cleared_env: tuple[str, ...]  # variables of the image that must not exist in the container
    workdir: str
    memory: int
    cpus: float
    pids: int
    shm: int
    open_files: int = 1024
    volumes: tuple[str, ...] = ()
    tmpfs: tuple[Tmpfs, ...] = ()
    runtime: str | None = None
    stdin: bool = False
    network: str | None = None  # of the engine, by name; None: none at all, as every scoring host has it
    file_locks: bool = False  # fcntl may lock parts of files
    names_itself: bool = False  # the image resolves localhost without /etc/hosts: nobody has to write it


@dataclass(frozen=True, slots=True)
class ContainerState:
    """What the engine knows of a container now."""

    id: str
    status: str  # created | running | exited | dead | removing | paused
    running: bool
    exit_code: int | None
    oom_killed: bool
    error: str


@dataclass(frozen=True, slots=True)
class Place:
    """What lies at a path of a container; `link` is where a symbolic link leads, as it is written there."""

    kind: Literal["folder", "file", "link"]
    mode: int  # permission bits
    link: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A container, volume or tagged image with its labels; `created` in seconds since the epoch."""

    id: str
    name: str
    kind: Literal["container", "volume", "image"]
    labels: Mapping[str, str]
    created: float
    running: bool = False
    size: int = 0  # of an image, with the layers that it shares with others


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a container: `action` is oom, die, kill, exec_die, …; `at`: the engine's time."""

    container: str
    action: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of output as it came."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class Stream(Protocol):
    """The two-way byte stream of an attach or an exec."""

    async def send(self, data: bytes) -> None:
        """Writes all of `data` to stdin; EngineUnreachable when the process has gone.

        It waits while stdin is full. The process's end is sure to be seen only while somebody receives.
        """

    async def close_stdin(self) -> None:
        """Half-closes: the process sees end of file, output goes on. Does nothing the second time."""

    async def receive(self) -> Chunk | None:
        """The next piece of output, at most 64 KiB; None after the end."""


class Engine(Protocol):
    """A Docker engine."""

    def give_up(self) -> None:
        """Every call that waits for an answer, and every later one, raises EngineUnreachable at once.

        For the way out of a process whose engine hangs; open streams end when they are cancelled.
        """

    async def ping(self) -> None:
        """Asks whether the engine is there; EngineHangs, within moments, when it does not answer."""

    async def info(self) -> EngineInfo:
        """What the engine says of itself. The first call of a job: its errors name what to mend."""

    async def image(self, reference: str) -> Image:
        """The image that `reference` (tag, digest or id) resolves to; NotFound when it is not present."""

    async def pull(self, reference: str) -> None:
        """Pulls one image; EngineRefused with the registry's own words."""

    async def build(
        self,
        context: Path,
        *,
        dockerfile: str,
        tag: str,
        labels: Mapping[str, str],
        log: Path,
        timeout: float,  # noqa: ASYNC109 - a limit of the build, told with its log; not only a deadline
    ) -> None:
        """Builds a tar file `context` and tags it, its output going to `log` as it comes.

        Raises EngineRefused (status 0) with the last lines of the build, EngineTimeout at `timeout`.
        """

    async def create(self, spec: ContainerSpec, *, said: Callable[[str], None] = unheard) -> str:
        """Makes a container and gives its id. Asked again after a lost answer it gives the one that exists:
        `spec.name` holds random bits, so a Conflict on it means that the first call arrived. `said` is told
        each warning of the engine's answer.
        """

    async def upload(self, container: str, path: str, archive: Path | bytes | Iterable[bytes]) -> None:
        """Unpacks a tar archive at `path`, which lies in a volume of the container.

        It is a file, all of its bytes, or pieces of them that are never held together; a piece should take
        milliseconds to make. An exception that the iteration raises comes out as it is.
        """

    async def place(self, container: str, path: str) -> Place | None:
        """What the image or a volume has at `path`, looked at without following a link; None: nothing.

        Places in memory are not seen.
        """

    def attach(self, container: str) -> AbstractAsyncContextManager[Stream]:
        """stdin, stdout and stderr of the main process; opened before `start`, so that nothing is missed."""

    async def start(self, container: str) -> None:
        """Starts it; EngineRefused with the runtime's own words when that fails.

        One that has ended is started anew: its volumes are as they were, its places in memory are empty.
        Its first process is the engine's init, so a main program that cannot be run is no refusal: it exits
        with 126 or 127 and words on stderr.
        """

    async def inspect(self, container: str) -> ContainerState:
        """What the engine knows of it now."""

    async def wait(self, container: str) -> ContainerState:
        """Waits for the main process of a started container to end, however long; NotFound when removed."""

    async def exec_create(
        self,
        container: str,
        argv: Iterable[str],
        *,
        user: int,
        env: Mapping[str, str],
        workdir: str,
        stdin: bool,
    ) -> str:
        """Prepares a process in a running container, gives the exec's id; Conflict when it does not run."""

    def exec_start(self, exec_id: str) -> AbstractAsyncContextManager[Stream]:
        """Starts it and gives its stream."""

    async def exec_begun(self, exec_id: str) -> bool:
        """Whether the engine has tried to start it, with whatever success."""

    async def exec_exit_code(self, exec_id: str) -> int | None:
        """Its exit code; None while it runs."""

    async def exec_ran(self, exec_id: str) -> bool:
        """Whether there ever was a process: else an exit code is the engine's, and so are words on stdout."""

    async def kill(self, container: str) -> None:
        """SIGKILL to the main process; quiet when it has ended or is gone."""

    async def remove(self, container: str) -> None:
        """Ends it by force and removes it with its volumes; quiet when it is gone."""

    async def list_containers(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Containers in any state that carry all `labels`; a value of None asks for the key alone."""

    async def list_volumes(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Volumes, the same way."""

    async def remove_volume(self, name: str) -> None:
        """Removes a volume; quiet when it is gone; Conflict while a container uses it."""

    async def list_images(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Images that carry all `labels`, one row for each tag, which is its name."""

    async def remove_image(self, name: str) -> None:
        """Takes a tag away, and its image with the last one; quiet when it is gone.

        Conflict while a container is made of it.
        """

    def events(self, labels: Mapping[str, str]) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Container events from now on, of containers with these labels."""
