"""A passage to the engine's socket that a test can close in the middle of everything."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from scorehost.engine.unix_stream import UnixStream


@dataclass(slots=True)
class Passage:
    """Connections go through until `close` is called; then all break and no new one is taken."""

    socket: Path
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def host(self) -> str:
        """The address, as DOCKER_HOST takes it."""
        return f"unix://{self.socket}"

    def close(self) -> None:
        """The engine has gone, as far as anybody here can tell."""
        self.socket.unlink(missing_ok=True)
        self._scope.cancel()


@asynccontextmanager
async def passage(path: Path, engine: str) -> AsyncIterator[Passage]:
    """A passage at `path` to the engine's own socket.

    Over our own streams: a future of anyio's listener and unix stream is set twice (InvalidStateError in the
    event loop) when the passage is closed in the turn of the loop in which bytes or a connection come.
    """
    way = Passage(path)

    async def serve(client: UnixStream) -> None:
        async with client, await UnixStream.connect(engine) as server, anyio.create_task_group() as pair:
            pair.start_soon(pump, client, server)
            pair.start_soon(pump, server, client)

    async def listen(listener: socket.socket) -> None:
        with way._scope:
            async with anyio.create_task_group() as served:
                while True:
                    await anyio.wait_readable(listener)
                    connection, _ = listener.accept()
                    connection.settimeout(0)
                    accepted.append(connection)
                    served.start_soon(serve, UnixStream(connection))

    accepted: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        listener.settimeout(0)
        async with anyio.create_task_group() as group:
            group.start_soon(listen, listener)
            yield way
            way.close()
        for connection in accepted:  # the last ones may have been taken and not yet served
            connection.close()


async def pump(source: UnixStream, target: UnixStream) -> None:
    """Bytes one way, then the half-close."""
    try:
        async for data in source:
            await target.send(data)
        await target.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        return
