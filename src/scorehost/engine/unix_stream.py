"""A unix socket as a byte stream that may be cancelled at any instant.

anyio's own unix stream can log an InvalidStateError when a cancel and data meet in one turn of the loop.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import ByteStream

from scorehost.aio.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Callable

READ_BYTES = 64 * 1024
BACKLOG = Retry(None, pause=0.005)  # the listener's queue is full; nothing tells when it is not


class UnixStream(ByteStream):
    """One connection; a reader and a writer at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._closed = False

    @classmethod
    async def connect(cls, path: str) -> Self:
        """A connection to the socket at `path`; OSError as the system gives it."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(0)
            while True:
                try:
                    connection.connect(path)
                    return cls(connection)
                except BlockingIOError:
                    await BACKLOG.wait(1)
        except BaseException:
            connection.close()
            raise

    @property
    def extra_attributes(self) -> dict[Any, Callable[[], Any]]:
        """None."""
        return {}

    async def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """Some bytes; EndOfStream at the end, BrokenResourceError, ClosedResourceError."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except ConnectionResetError:
                # The other side closed while bytes of ours lay unread there: that is how a stream ends to a
                # process that ends while it is written to. What it had sent was received before.
                raise anyio.EndOfStream from None
            except OSError as error:
                raise self._failed() from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """Writes all of `item`; BrokenResourceError when the other side has gone."""
        await anyio.lowlevel.checkpoint()
        view = memoryview(item)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise self._failed() from error

    def _failed(self) -> Exception:
        return anyio.ClosedResourceError() if self._closed else anyio.BrokenResourceError()

    async def send_eof(self) -> None:
        """Ends the sending side; the receiving side goes on."""
        self._socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Closes at once; whoever waits on it gets ClosedResourceError."""
        if not self._closed:
            self._closed = True
            anyio.notify_closing(self._socket)
            self._socket.close()
        await anyio.lowlevel.checkpoint()
