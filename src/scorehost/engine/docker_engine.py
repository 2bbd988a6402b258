"""The real engine: the door's protocol, spoken to Docker."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from scorehost.engine import answers
from scorehost.engine.bodies import body_of
from scorehost.engine.calls import (
    REMOVE_SECONDS,
    START_SECONDS,
    Call,
    Caller,
)
from scorehost.engine.container_config import LOOPBACK_SIX, container_config
from scorehost.engine.docker_events import event_stream
from scorehost.engine.docker_execs import DockerExecs
from scorehost.engine.docker_images import build_image, pull_image
from scorehost.engine.door import unheard
from scorehost.engine.hijack import hijack
from scorehost.engine.linger import lingering
from scorehost.engine.paths import quoted, quoted_reference
from scorehost.engine.pulse import Pulse
from scorehost.engine.translate import WORDS, translated
from scorehost.engine.wire import Request, exchange
from scorehost.errors import Conflict, EngineRefused, NotFound
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path

    import docker

    from scorehost.engine.door import (
        ContainerSpec,
        ContainerState,
        EngineInfo,
        Event,
        Image,
        Listed,
        Place,
        Stream,
    )
    from scorehost.engine.endpoint import Endpoint

CREATE_SECONDS = 30.0
CANCELLED_CREATE_SECONDS = 5.0  # how long a cancelled create may go on, to take back what it made
UPLOAD_SECONDS = 600.0  # from the archive's last byte to the engine's word that it is unpacked
GONE_OR_GOING = "is already in progress"
ANSWER_BYTES = 64 * 1024
PLACE_HEADER = "x-docker-container-path-stat"
NO_SIX = "The engine's machine has no IPv6; the next container is made without it."
NO_CONTAINER = "no such container"


class DockerEngine(DockerExecs):
    """A Docker engine that has been probed; made by `opening.open_engine`."""

    def __init__(self, client: docker.APIClient, endpoint: Endpoint, prefix: str) -> None:
        self._endpoint = endpoint
        self._prefix = prefix
        self._client = client
        self._pulse = Pulse(endpoint, self._ping)
        self._caller = Caller(endpoint, prefix, self._pulse)
        self._default_runtime = ""
        self._loopback_six = True  # until a start says that this kernel has no IPv6

    def give_up(self) -> None:
        """Every call that waits for an answer, and every later one, raises EngineUnreachable at once."""
        self._caller.give_up()

    async def _ping(self) -> None:
        request = Request("say that it is there", "GET", "/_ping", {})
        async with exchange(self._endpoint, request):
            return

    async def ping(self) -> None:
        """Asks whether the engine is there; EngineHangs when it does not answer."""
        await self._pulse.check("say that it is there", closing=True)

    async def info(self) -> EngineInfo:
        """What the engine says of itself."""
        info = await self._caller.call(Call("say what it is", "GET", "/info", again=True))
        version = await self._caller.call(Call("say its version", "GET", "/version", again=True))
        found = answers.engine_info(info, version, self._endpoint)
        self._default_runtime = found.default_runtime
        return found

    async def image(self, reference: str) -> Image:
        """The image that `reference` resolves to; NotFound when it is not present."""
        path = f"/images/{quoted_reference(reference)}/json"
        answer = await self._caller.call(Call(f"look the image {reference} up", "GET", path, again=True))
        return answers.image(answer, reference)

    async def pull(self, reference: str) -> None:
        """Pulls one image; EngineRefused with the registry's own words."""
        await pull_image(self._client, self._endpoint, self._prefix, reference)

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
        """Builds a tar file and tags it, its output going to `log` as it comes."""
        await build_image(
            self._client,
            self._endpoint,
            self._prefix,
            context,
            dockerfile=dockerfile,
            tag=tag,
            labels=labels,
            log=log,
            timeout=timeout,
        )

    async def create(self, spec: ContainerSpec, *, said: Callable[[str], None] = unheard) -> str:
        """Makes a container and gives its id. A cancelled create takes back what it made, within bounds."""
        if not spec.runtime and not self._default_runtime:
            await self.info()
        config = container_config(
            spec, default_runtime=self._default_runtime, loopback_six=self._loopback_six
        )
        return await lingering(
            lambda: self._create(spec, config, said),
            undo=self.remove,
            grace=CANCELLED_CREATE_SECONDS,
            alive=self.ping,
        )

    async def _create(self, spec: ContainerSpec, config: dict[str, Any], said: Callable[[str], None]) -> str:
        call = Call(
            f"create the container {spec.name}",
            "POST",
            "/containers/create",
            params={"name": spec.name},
            body=config,
            seconds=CREATE_SECONDS,
            again=True,  # the name is unique: a second arrival is a Conflict, not a second container
            lane="slow",
        )
        try:
            answer = await self._caller.call(call)
        except Conflict:
            answer = await self._inspect(spec.name)
            theirs = answer["Config"].get("Labels") or {}
            if any(theirs.get(key) != value for key, value in spec.labels.items()):
                raise  # somebody else's container has that name
        for words in answer.get("Warnings") or ():
            said(own_masker().text(" ".join(str(words).split()))[:WORDS])
        return str(answer["Id"])

    async def upload(self, container: str, path: str, archive: Path | bytes | Iterable[bytes]) -> None:
        """Unpacks a tar archive at `path`, which lies in a volume of the container."""
        body, length = body_of(archive)
        request = Request(
            f"unpack an archive at {path} of the container {container}",
            "PUT",
            f"{self._prefix}/containers/{quoted(container)}/archive?path={quoted(path)}",
            {"Content-Type": "application/x-tar"},
            body=body,
            length=length,
            head_seconds=UPLOAD_SECONDS,
        )
        async with exchange(self._endpoint, request, self._pulse):
            return

    async def place(self, container: str, path: str) -> Place | None:
        """What the image or a volume has at `path`; None: nothing."""
        request = Request(
            f"look at {path} of the container {container}",
            "HEAD",
            f"{self._prefix}/containers/{quoted(container)}/archive?path={quoted(path)}",
            {},
        )
        try:
            async with exchange(self._endpoint, request) as response:
                return answers.place(response.headers.get(PLACE_HEADER, ""))
        except NotFound:
            return None

    def attach(self, container: str) -> AbstractAsyncContextManager[Stream]:
        """stdin, stdout and stderr of the main process; opened before `start`, so that nothing is missed."""
        path = f"{self._prefix}/containers/{quoted(container)}/attach?stream=1&stdin=1&stdout=1&stderr=1"
        return hijack(self._endpoint, path, doing=f"attach to the container {container}", pulse=self._pulse)

    async def start(self, container: str) -> None:
        """Starts it; EngineRefused with the runtime's own words when that fails."""
        path = f"/containers/{quoted(container)}/start"
        doing = f"start the container {container}"
        try:
            await self._caller.call(Call(doing, "POST", path, seconds=START_SECONDS, lane="slow"))
        except EngineRefused as error:
            if LOOPBACK_SIX.replace(".", "/") in error.message:
                self._loopback_six = False
                raise EngineRefused(NO_SIX, status=error.status) from error
            if not isinstance(error, NotFound):
                raise
            if NO_CONTAINER in error.message.lower():
                raise
            raise EngineRefused(error.message, status=error.status) from error  # a program that is not found

    async def inspect(self, container: str) -> ContainerState:
        """What the engine knows of it now."""
        return answers.state(await self._inspect(container))

    async def _inspect(self, container: str) -> Any:
        path = f"/containers/{quoted(container)}/json"
        return await self._caller.call(Call(f"look the container {container} up", "GET", path, again=True))

    async def wait(self, container: str) -> ContainerState:
        """Waits for the main process of a started container to end, however long it takes."""
        request = Request(
            f"wait for the container {container}",
            "POST",
            f"{self._prefix}/containers/{quoted(container)}/wait?condition=not-running",
            {},
            head_seconds=None,
        )
        async with exchange(self._endpoint, request, self._pulse) as response:
            await response.read(ANSWER_BYTES)
        return await self.inspect(container)

    async def kill(self, container: str) -> None:
        """SIGKILL to the main process; quiet when it has ended or is gone."""
        path = f"/containers/{quoted(container)}/kill"
        call = Call(
            f"kill the container {container}", "POST", path, {"signal": "KILL"}, again=True, closing=True
        )
        try:
            await self._caller.call(call)
        except (NotFound, Conflict):
            return  # the end that was asked for

    async def remove(self, container: str) -> None:
        """Ends it by force and removes it with its volumes; quiet when it is gone."""
        call = Call(
            f"remove the container {container}",
            "DELETE",
            f"/containers/{quoted(container)}",
            params={"force": "1", "v": "1"},
            seconds=REMOVE_SECONDS,
            again=True,
            closing=True,
        )
        try:
            await self._caller.call(call)
        except NotFound:
            return
        except Conflict as error:
            if GONE_OR_GOING not in error.message:
                raise
            await self._gone(container)

    async def _gone(self, container: str) -> None:
        """Waits until a removal that somebody else began has ended."""
        request = Request(
            f"wait for the removal of the container {container}",
            "POST",
            f"{self._prefix}/containers/{quoted(container)}/wait?condition=removed",
            {},
            head_seconds=REMOVE_SECONDS,
            closing=True,
        )
        try:
            with anyio.fail_after(REMOVE_SECONDS):
                async with exchange(self._endpoint, request, self._pulse) as response:
                    await response.read(ANSWER_BYTES)
        except NotFound:
            return
        except TimeoutError as error:
            raise translated(error, doing=request.doing, endpoint=self._endpoint) from error

    async def list_containers(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Containers in any state that carry all `labels`; a value of None asks for the key alone."""
        params = {"all": "1", "filters": _filters(labels)}
        call = Call("list containers", "GET", "/containers/json", params=params, again=True, closing=True)
        return [answers.listed_container(row) for row in await self._caller.call(call)]

    async def list_volumes(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Volumes, the same way."""
        params = {"filters": _filters(labels)}
        call = Call("list volumes", "GET", "/volumes", params=params, again=True, closing=True)
        rows = (await self._caller.call(call)).get("Volumes") or []
        return [answers.listed_volume(row) for row in rows]

    async def remove_volume(self, name: str) -> None:
        """Removes a volume; quiet when it is gone; Conflict while a container uses it."""
        path = f"/volumes/{quoted(name)}"
        try:
            call = Call(f"remove the volume {name}", "DELETE", path, again=True, closing=True)
            await self._caller.call(call)
        except NotFound:
            return

    async def list_images(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Images that carry all `labels`, one row for each tag."""
        call = Call("list images", "GET", "/images/json", params={"filters": _filters(labels)}, again=True)
        rows = await self._caller.call(call)
        return [found for row in rows for found in answers.listed_images(row)]

    async def remove_image(self, name: str) -> None:
        """Takes a tag away, and its image with the last one."""
        path = f"/images/{quoted_reference(name)}"
        call = Call(f"remove the image {name}", "DELETE", path, seconds=REMOVE_SECONDS, again=True)
        try:
            await self._caller.call(call)
        except NotFound:
            return

    @asynccontextmanager
    async def events(self, labels: Mapping[str, str]) -> AsyncIterator[AsyncIterator[Event]]:
        """Container events from now on, of containers with these labels."""
        info = await self._caller.call(Call("say its time", "GET", "/info", again=True))
        since = answers.engine_seconds(info)
        filters = json.dumps(
            {"type": ["container"], "label": [f"{key}={value}" for key, value in labels.items()]}
        )
        async with event_stream(self._endpoint, self._prefix, since=since, filters=filters) as stream:
            yield stream


def _filters(labels: Mapping[str, str | None]) -> str:
    return json.dumps(
        {"label": [key if value is None else f"{key}={value}" for key, value in labels.items()]}
    )
