"""Attach and exec streams: an HTTP exchange that both sides take over for raw bytes."""

from __future__ import annotations

import json
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from scorehost.engine.frames import Demultiplexer, FramingError
from scorehost.engine.wire import Request, Response, exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from scorehost.engine.door import Chunk
    from scorehost.engine.endpoint import Endpoint
    from scorehost.engine.pulse import Pulse


class HijackedStream:
    """A `Stream` of the door over a connection that the engine has switched to raw bytes."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self._frames = Demultiplexer()
        self._ready: deque[Chunk] = deque()
        self._sending = anyio.Lock()
        self._stdin_closed = False
        self._stuck = anyio.CancelScope()
        self._ended = False

    async def send(self, data: bytes) -> None:
        """Writes all of `data` to stdin; EngineUnreachable when the other side has gone.

        An engine may leave the connection open and unread when the process has ended: then the end of the
        output, which `receive` sees, is what ends a send that is stuck.
        """
        async with self._sending:
            if not self._ended:
                with anyio.CancelScope() as self._stuck:
                    await self._response.send(data)
                    return
            raise self._response.broken("has seen the process end")

    async def close_stdin(self) -> None:
        """Half-closes; does nothing the second time, or when the other side has gone."""
        async with self._sending:
            if not self._stdin_closed:
                self._stdin_closed = True
                await self._response.send_eof()

    async def receive(self) -> Chunk | None:
        """The next piece of output, at most 64 KiB; None after the end; EngineUnreachable when cut off."""
        while not self._ready:
            data = await self._response.receive()
            if not data:
                self._ended = True
                self._stuck.cancel()
                if self._frames.at_boundary:
                    return None
                raise self._response.broken("cut the output off")
            try:
                self._ready.extend(self._frames.feed(data))
            except FramingError as error:
                raise self._response.broken(f"sent {error}") from error
        return self._ready.popleft()


@asynccontextmanager
async def hijack(
    endpoint: Endpoint,
    path: str,
    *,
    doing: str,
    body: Mapping[str, Any] | None = None,
    pulse: Pulse | None = None,
) -> AsyncIterator[HijackedStream]:
    """Posts to `path` and gives the stream that the connection becomes; an engine may answer 101 or 200."""
    data = json.dumps(body).encode() if body is not None else b""
    headers = {"Connection": "Upgrade", "Upgrade": "tcp", "Content-Type": "application/json"}
    request = Request(doing, "POST", path, headers, body=(data,) if data else (), length=len(data))
    async with exchange(endpoint, request, pulse) as response:
        yield HijackedStream(response)
