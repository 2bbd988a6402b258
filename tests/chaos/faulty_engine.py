"""A proxy in front of the engine's socket: a call fails, hangs, is cut or late; bytes come in odd pieces."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from scorehost.engine.unix_stream import UnixStream

GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
LATE_SECONDS = 1.5
WORDS = b'{"message":"a bad moment of the engine"}'
FAILED = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(WORDS), WORDS)
)

# The calls of an attempt, by what their first line looks like.
CALLS = {
    "create": r"POST /v[\d.]+/containers/create",
    "upload": r"PUT /v[\d.]+/containers/\w+/archive",
    "attach": r"POST /v[\d.]+/containers/\w+/attach",
    "start": r"POST /v[\d.]+/containers/\w+/start",
    "exec create": r"POST /v[\d.]+/containers/\w+/exec",
    "exec start": r"POST /v[\d.]+/exec/\w+/start",
    "exec inspect": r"GET /v[\d.]+/exec/\w+/json",
    "inspect": r"GET /v[\d.]+/containers/\w+/json",
    "wait": r"POST /v[\d.]+/containers/\w+/wait",
    "remove": r"DELETE /v[\d.]+/containers/\w+",
    "list": r"GET /v[\d.]+/containers/json",
    "list volumes": r"GET /v[\d.]+/volumes",
    "image inspect": r"GET /v[\d.]+/images/.+/json",
    "events": r"GET /v[\d.]+/events",
    "info": r"GET /v[\d.]+/info",
}

Fault = Literal[
    "500", "500 after", "cut", "cut after", "hang", "hang after", "late", "cut in the middle", "cut later"
]
"""`after`: the engine does what is asked, and its answer does not arrive."""

Relay = Callable[[UnixStream, UnixStream], Awaitable[None]]


async def as_it_comes(source: UnixStream, sink: UnixStream) -> None:
    """Bytes as the engine sends them."""
    while True:
        await sink.send(await source.receive())


async def split(source: UnixStream, sink: UnixStream) -> None:
    """Bytes in pieces of three, each in a packet of its own, up to a few KiB of one receive."""
    while True:
        data = await source.receive()
        for start in range(0, min(len(data), 6_000), 3):
            await sink.send(data[start : min(start + 3, 6_000)])
        await sink.send(data[6_000:])


async def coalesced(source: UnixStream, sink: UnixStream) -> None:
    """Held back for a moment, so that head and first output, or several frames, arrive in one packet."""
    while True:
        data = await source.receive()
        ended = False
        with anyio.move_on_after(0.15):
            try:
                while True:
                    data += await source.receive()
            except GONE:
                ended = True
        await sink.send(data)
        if ended:
            return


@dataclass
class FaultyEngine:
    """What the proxy does. `arm` sets one fault; `hit` tells how often it struck, `seen` every first line."""

    path: Path
    engine: str
    relay: Relay = as_it_comes
    hit: int = 0
    seen: list[str] = field(default_factory=list)
    _fault: Fault = "500"
    _call: re.Pattern[str] | None = None
    _times: int = 0
    _skip: int = 0
    _open: set[anyio.CancelScope] = field(default_factory=set)

    def break_all(self) -> int:
        """Closes every connection in order, as a proxy that ends does; how many there were."""
        for scope in self._open:
            scope.cancel()
        return len(self._open)

    @property
    def host(self) -> str:
        """The address, as DOCKER_HOST takes it."""
        return f"unix://{self.path}"

    def arm(self, call: str, fault: Fault, *, times: int = 1, skip: int = 0) -> None:
        """The next `times` calls of this sort fail in this way, after `skip` that do not."""
        self._call, self._fault, self._times, self._skip = (
            re.compile(CALLS[call] + r"[ ?]"),
            fault,
            times,
            skip,
        )

    def _struck(self, line: str) -> Fault | None:
        if self._call is None or not self._call.match(line):
            return None
        if self._skip:
            self._skip -= 1
            return None
        if self.hit >= self._times:
            return None
        self.hit += 1
        return self._fault

    async def serve(self, client: UnixStream) -> None:
        """One connection: one call, since each is told to be the last of its connection."""
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            try:
                await self._one(client)
            finally:
                self._open.discard(scope)

    async def _one(self, client: UnixStream) -> None:
        async with client:
            with suppress(*GONE):
                head, rest = await _head(client)
                line = head.split(b"\r\n", 1)[0].decode("latin-1")
                self.seen.append(line)
                fault = self._struck(line)
                if fault == "cut":
                    return
                if fault == "hang":
                    await _swallow(client)
                if fault == "500":
                    await _answer(client, FAILED)
                if fault in ("cut", "hang", "500"):
                    return
                with anyio.move_on_after(LATE_SECONDS if fault == "cut later" else None):
                    await self._through(client, _last(head) + rest, fault)

    async def _through(self, client: UnixStream, data: bytes, fault: Fault | None) -> None:
        async with await UnixStream.connect(self.engine) as engine, anyio.create_task_group() as group:

            async def answers() -> None:
                with suppress(*GONE):
                    if fault == "late":
                        first = await engine.receive()
                        await anyio.sleep(LATE_SECONDS)
                        await client.send(first)
                    elif fault in ("500 after", "cut after", "hang after"):
                        await _head(engine)
                        if fault == "500 after":
                            await client.send(FAILED)
                        elif fault == "hang after":
                            await anyio.sleep_forever()
                        raise anyio.EndOfStream
                    elif fault == "cut in the middle":
                        head, rest = await _head(engine)
                        await client.send(head)
                        await client.send((rest or await engine.receive())[:-1])
                        raise anyio.EndOfStream
                    await self.relay(engine, client)
                with suppress(*GONE):
                    await client.aclose()

            group.start_soon(answers)
            with suppress(*GONE):
                await engine.send(data)
                await as_it_comes(client, engine)
            with suppress(*GONE):
                await engine.send_eof()


def _last(head: bytes) -> bytes:
    if re.search(rb"\r\nconnection: upgrade", head, re.IGNORECASE):
        return head
    kept = re.sub(rb"\r\nconnection:[^\r]*", b"", head, flags=re.IGNORECASE)
    return kept.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"


async def _head(stream: UnixStream) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, mark, rest = data.partition(b"\r\n\r\n")
    return head + mark, rest


async def _swallow(client: UnixStream) -> None:
    with suppress(*GONE):
        while True:
            await client.receive()


async def _answer(client: UnixStream, answer: bytes) -> None:
    with anyio.move_on_after(0.2):  # what it still sends, an archive, say
        await _swallow(client)
    await client.send(answer)


@asynccontextmanager
async def faulty_engine(path: Path, engine: str) -> AsyncIterator[FaultyEngine]:
    """The proxy at the unix socket `path`, in front of the engine's own socket."""
    faulty = FaultyEngine(path, engine)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        listener.settimeout(0)
        async with anyio.create_task_group() as group:

            async def accept() -> None:
                while True:
                    await anyio.wait_readable(listener)
                    connection, _ = listener.accept()
                    connection.settimeout(0)
                    accepted.append(connection)
                    group.start_soon(faulty.serve, UnixStream(connection))

            accepted: list[socket.socket] = []
            group.start_soon(accept)
            yield faulty
            group.cancel_scope.cancel()
        for connection in accepted:  # the last ones may have been taken and not yet served
            connection.close()
