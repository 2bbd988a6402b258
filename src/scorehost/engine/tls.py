"""TLS over a byte stream that can end its sending side and go on receiving, which exec and attach need."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.abc import ByteStream

if TYPE_CHECKING:
    from collections.abc import Callable

READ_BYTES = 64 * 1024
T = TypeVar("T")


class HalfClosingTls(ByteStream):
    """A TLS client connection. `send_eof` sends close_notify, after which the peer may still send."""

    def __init__(self, transport: ByteStream, context: ssl.SSLContext, host: str) -> None:
        self._transport = transport
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._unread = bytearray()
        self._sending = anyio.Lock()

    @classmethod
    async def wrap(cls, transport: ByteStream, context: ssl.SSLContext, host: str) -> HalfClosingTls:
        """The connection after its handshake; ssl.SSLError when the sides do not agree."""
        stream = cls(transport, context, host)
        await stream._drive(stream._tls.do_handshake)
        return stream

    @property
    def extra_attributes(self) -> dict[Any, Callable[[], Any]]:
        """Those of the connection below."""
        return dict(self._transport.extra_attributes)

    async def _flush(self) -> None:
        async with self._sending:  # what the two directions have to send must not interleave
            if data := self._outgoing.read():
                await self._transport.send(data)

    async def _drive(self, step: Callable[[], T]) -> T:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                await self._flush()
                try:
                    self._incoming.write(await self._transport.receive(READ_BYTES))
                except anyio.EndOfStream:
                    self._incoming.write_eof()
            except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
                raise anyio.EndOfStream from None
            else:
                await self._flush()
                return result

    async def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """Some bytes; EndOfStream at the peer's end."""
        if self._unread:
            data = bytes(self._unread[:max_bytes])
            del self._unread[:max_bytes]
            return data
        data = await self._drive(lambda: self._tls.read(max_bytes))
        if not data:
            raise anyio.EndOfStream
        return data

    async def send(self, item: bytes) -> None:
        """Writes all of `item`."""
        view = memoryview(item)
        while view:
            written = self._tls.write(view[:READ_BYTES])
            await self._flush()
            view = view[written:]

    async def send_eof(self) -> None:
        """Ends the sending side. What has been received is read first: a shutdown would trip over it."""
        try:
            while data := self._tls.read(READ_BYTES):
                self._unread += data
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError, ssl.SSLEOFError):
            pass  # nothing more is there
        with suppress(ssl.SSLWantReadError):  # the peer's own close_notify comes when it has no more to say
            self._tls.unwrap()
        await self._flush()

    async def aclose(self) -> None:
        """Closes the connection below."""
        await self._transport.aclose()
