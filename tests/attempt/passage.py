"""A passage to the engine's socket that a test can close in the middle of everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketStream


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
async def passage(socket: Path, engine: str) -> AsyncIterator[Passage]:
    """A passage at `socket` to the engine's own socket."""
    way = Passage(socket)
    listener = await anyio.create_unix_listener(socket)

    async def serve(client: SocketStream) -> None:
        async with client, await anyio.connect_unix(engine) as server, anyio.create_task_group() as pair:
            pair.start_soon(pump, client, server)
            pair.start_soon(pump, server, client)

    async def listen() -> None:
        with way._scope:
            async with listener:
                await listener.serve(serve)

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        yield way
        way.close()


async def pump(source: ByteStream, target: ByteStream) -> None:
    """Bytes one way, then the half-close."""
    try:
        async for data in source:
            await target.send(data)
        await target.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        return
