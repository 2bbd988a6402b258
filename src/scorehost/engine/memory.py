"""The in-memory twin of the engine: containers, files, labels, events, scripted programs; no Docker."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

import anyio
import anyio.lowlevel

from scorehost.engine import door
from scorehost.engine.bodies import body_of
from scorehost.engine.door import ContainerSpec, ContainerState, EngineInfo, Event, Listed, Place, Stream
from scorehost.engine.memory_files import MemoryFiles
from scorehost.engine.memory_image_calls import MemoryImageCalls
from scorehost.engine.memory_images import MemoryImages
from scorehost.engine.memory_pipe import MemoryStream, Pipe
from scorehost.engine.memory_process import Context, Launch, Process, Program
from scorehost.engine.memory_state import (
    INFO,
    Armed,
    Listener,
    MemoryContainer,
    MemoryExec,
    environment_of,
    events_of,
    listed_containers,
    listed_volumes,
    missing_program,
    sleep_program,
    state_of,
)
from scorehost.errors import Conflict, EngineUnreachable, NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from scorehost.engine.door import Chunk, Engine

STOPPED = 409


class MemoryEngine(MemoryImageCalls):
    """An `Engine` to be used as a context manager; leaving it ends every program.

    `images` says what is present. `program` scripts what containers run. `fail` makes a call fail. `calls`
    counts the calls of each method. `launches` lists every process that was started.
    """

    def __init__(self, info: EngineInfo = INFO) -> None:
        self.images = MemoryImages()
        self.calls: Counter[str] = Counter()
        self.launches: list[Launch] = []
        self._info = info
        self._containers: dict[str, MemoryContainer] = {}
        self._execs: dict[str, MemoryExec] = {}
        self._programs: list[tuple[Callable[[Launch], bool], Program]] = []
        self._faults: dict[tuple[str, int], Armed] = {}
        self._listeners: list[Listener] = []
        self._group = anyio.create_task_group()
        self._given_up = False
        self.warnings: list[str] = []  # of every create

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        if error is None or not isinstance(error, Exception):
            return await self._group.__aexit__(kind, error, trace)
        # The caller's own error goes on as it is, in no group.
        await self._group.__aexit__(None, None, None)
        return None

    def program(self, match: str | Callable[[Launch], bool], play: Program) -> None:
        """Processes that `match` (an image's reference or a predicate) play `play`; the newest wins."""

        def by_image(launch: Launch) -> bool:
            return launch.image == match

        self._programs.insert(0, (by_image if isinstance(match, str) else match, play))

    def fail(self, method: str, error: Exception, *, call: int = 1, after: bool = False) -> None:
        """The `call`-th call of `method` from now on raises `error`; with `after`, once its work is done."""
        self._faults[method, self.calls[method] + call] = Armed(error, after)

    def give_up(self) -> None:
        """Every later call raises EngineUnreachable; none ever waits long."""
        self._given_up = True

    @asynccontextmanager
    async def _call(self, method: str) -> AsyncIterator[None]:
        self.calls[method] += 1
        fault = self._faults.pop((method, self.calls[method]), None)
        await anyio.lowlevel.checkpoint()
        if self._given_up:
            raise EngineUnreachable(f"The in-memory engine was given up before {method}.")
        if fault is not None and not fault.after:
            raise fault.error
        yield
        if fault is not None:
            raise fault.error

    def _find(self, container: str) -> MemoryContainer:
        for found in self._containers.values():
            if container in {found.id, found.spec.name}:
                return found
        raise NotFound(f"The in-memory engine has no container {container}: No such container", status=404)

    def _emit(self, container: MemoryContainer, action: str, **attributes: str) -> None:
        labels = container.spec.labels
        facts = {"name": container.spec.name, **labels, **attributes}
        event = Event(container.id, action, facts, time.time())
        for listener in self._listeners:
            if all(labels.get(key) == value for key, value in listener.labels.items()):
                listener.pipe.push(event)

    async def ping(self) -> None:
        """Answers."""
        async with self._call("ping"):
            return

    async def info(self) -> EngineInfo:
        """The `info` that the engine was made with."""
        async with self._call("info"):
            return self._info

    def _uses(self, identity: str) -> bool:
        return any(each.image.id == identity for each in self._containers.values())

    async def create(self, spec: ContainerSpec, *, said: Callable[[str], None] = door.unheard) -> str:
        """A container; the existing one for a name with the same labels. Says what `warnings` holds."""
        async with self._call("create"):
            for words in self.warnings:
                said(words)
            image = self.images.find(spec.image)
            for other in self._containers.values():
                if other.spec.name == spec.name:
                    if other.spec.labels != spec.labels:
                        raise Conflict(f"The name {spec.name} is already in use", status=STOPPED)
                    return other.id
            container = MemoryContainer(
                id=secrets.token_hex(32),
                spec=spec,
                image=image,
                files=MemoryFiles(spec.volumes, (place.target for place in spec.tmpfs)),
                volumes={secrets.token_hex(32): target for target in spec.volumes},
                process=Process(stdin=spec.stdin),
                created=time.time(),
            )
            self._containers[container.id] = container
            self._emit(container, "create")
            return container.id

    async def upload(self, container: str, path: str, archive: Path | bytes | Iterable[bytes]) -> None:
        """Unpacks an archive into a volume."""
        async with self._call("upload"):
            pieces, _ = body_of(archive)
            self._find(container).files.unpack(path, b"".join(pieces))

    async def place(self, container: str, path: str) -> Place | None:
        """What the container's image was said to have there, or what was unpacked."""
        async with self._call("place"):
            found = self._find(container)
            return self.images.places.get((found.image.id, path)) or found.files.place(path)

    @asynccontextmanager
    async def attach(self, container: str) -> AsyncIterator[Stream]:
        """stdin, stdout and stderr of the main process."""
        async with self._call("attach"):
            found = self._find(container)
            process = found.process
            if found.status == "exited":
                process = found.following = found.following or Process(stdin=found.spec.stdin)
        async with self._attached(process) as stream:
            yield stream

    @asynccontextmanager
    async def _attached(self, process: Process) -> AsyncIterator[MemoryStream]:
        output: Pipe[Chunk] = Pipe()
        if process.ended.is_set():
            output.end()
        process.outputs.append(output)
        try:
            yield MemoryStream(process.stdin, output)
        finally:
            process.stdin.end()
            output.abandon()
            process.outputs.remove(output)

    def _play(
        self, container: MemoryContainer, launch: Launch, process: Process, end: Callable[[int], None]
    ) -> None:
        chosen = (play for match, play in self._programs if match(launch))
        play = next(chosen, sleep_program if launch.argv[:1] == ("sleep",) else missing_program)
        self.launches.append(launch)
        process.started = True
        process.ran = play is not missing_program

        def on_oom() -> None:
            container.oom_killed = container.oom_killed or launch.main
            self._emit(container, "oom")

        context = Context(launch, container.files, process, on_oom)
        self._group.start_soon(process.run, play, context, end)

    async def start(self, container: str) -> None:
        """Plays the main program; neither scripted nor `sleep`: exit 127, as under Docker's init."""
        async with self._call("start"):
            found = self._find(container)
            if found.status == "running":
                return
            spec = found.spec
            if found.status == "exited":
                found.process = found.following or Process(stdin=spec.stdin)
                found.following, found.oom_killed = None, False
                found.files.restart()
            reference = self.images.name_of(found.image.id)
            env = environment_of(found)
            launch = Launch(reference, spec.command, spec.user, env, spec.workdir, main=True)
            self._play(found, launch, found.process, lambda code: self._main_ended(found, code))
            found.status = "running"
            self._emit(found, "start")

    def _main_ended(self, container: MemoryContainer, code: int) -> None:
        container.status = "exited"
        for identity in container.execs:
            self._execs[identity].process.kill()
        self._emit(container, "die", exitCode=str(code))

    async def inspect(self, container: str) -> ContainerState:
        """Its state now."""
        async with self._call("inspect"):
            return state_of(self._find(container))

    async def wait(self, container: str) -> ContainerState:
        """Its state once its main process has ended."""
        async with self._call("wait"):
            found = self._find(container)
            if found.status != "created":
                await found.process.ended.wait()
            return state_of(self._find(found.id))

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
        """An exec that has not started; Conflict when the container does not run."""
        async with self._call("exec_create"):
            found = self._running(container)
            reference = self.images.name_of(found.image.id)
            launch = Launch(
                reference, tuple(argv), user, {**environment_of(found), **env}, workdir, main=False
            )
            identity = secrets.token_hex(32)
            self._execs[identity] = MemoryExec(found, launch, Process(stdin=stdin))
            found.execs.append(identity)
            self._emit(found, f"exec_create: {' '.join(launch.argv)}", execID=identity)
            return identity

    def _running(self, container: str) -> MemoryContainer:
        found = self._find(container)
        if found.status != "running":
            raise Conflict(f"The container {container} is not running", status=STOPPED)
        return found

    def _exec(self, exec_id: str) -> MemoryExec:
        if exec_id not in self._execs:
            raise NotFound(f"The in-memory engine has no exec {exec_id}: No such exec instance", status=404)
        return self._execs[exec_id]

    @asynccontextmanager
    async def exec_start(self, exec_id: str) -> AsyncIterator[Stream]:
        """Plays it; as with Docker, an unknown program exits 126 with the runtime's words on stdout."""
        async with self._call("exec_start"):
            found = self._exec(exec_id)
            self._running(found.container.id)
            if found.process.started:
                raise Conflict(f"The exec {exec_id} has run already", status=STOPPED)
        async with self._attached(found.process) as stream:

            def ended(code: int) -> None:
                self._emit(found.container, "exec_die", execID=exec_id, exitCode=str(code))

            self._play(found.container, found.launch, found.process, ended)
            self._emit(found.container, f"exec_start: {' '.join(found.launch.argv)}", execID=exec_id)
            yield stream

    async def exec_begun(self, exec_id: str) -> bool:
        """Whether it was started."""
        async with self._call("exec_begun"):
            return self._exec(exec_id).process.started

    async def exec_exit_code(self, exec_id: str) -> int | None:
        """Its exit code; None until it has ended."""
        async with self._call("exec_exit_code"):
            return self._exec(exec_id).process.exit_code

    async def exec_ran(self, exec_id: str) -> bool:
        """Whether it was started and there was such a program."""
        async with self._call("exec_ran"):
            process = self._exec(exec_id).process
            return process.started and process.ran

    async def kill(self, container: str) -> None:
        """Ends the main process, and with it every exec; quiet when nothing runs."""
        async with self._call("kill"):
            try:
                found = self._running(container)
            except (NotFound, Conflict):
                return
            await self._kill(found)

    async def _kill(self, found: MemoryContainer) -> None:
        self._emit(found, "kill", signal="9")
        found.process.kill()
        await found.process.ended.wait()

    async def remove(self, container: str) -> None:
        """Ends it and forgets it with its volumes; quiet when it is gone."""
        async with self._call("remove"):
            try:
                found = self._find(container)
            except NotFound:
                return
            if found.status == "running":
                await self._kill(found)
            for identity in found.execs:
                self._execs.pop(identity, None)
            if self._containers.pop(found.id, None) is not None:
                for output in found.process.outputs:
                    output.end()
                self._emit(found, "destroy")

    async def list_containers(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Containers that carry all labels."""
        async with self._call("list_containers"):
            return listed_containers(self._containers.values(), labels)

    async def list_volumes(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Volumes of containers that carry all labels: a volume has its container's."""
        async with self._call("list_volumes"):
            return listed_volumes(self._containers.values(), labels)

    async def remove_volume(self, name: str) -> None:
        """Conflict for a volume that exists, since its container does; quiet for others."""
        async with self._call("remove_volume"):
            if any(name in container.volumes for container in self._containers.values()):
                raise Conflict(f"The volume {name} is in use", status=STOPPED)

    @asynccontextmanager
    async def events(self, labels: Mapping[str, str]) -> AsyncIterator[AsyncIterator[Event]]:
        """Events from now on, of containers with these labels."""
        async with self._call("events"):
            listener = Listener(dict(labels), Pipe())
        self._listeners.append(listener)
        try:
            yield events_of(listener.pipe)
        finally:
            self._listeners.remove(listener)
            listener.pipe.abandon()


if TYPE_CHECKING:
    _keeps_the_protocol: type[Engine] = MemoryEngine
