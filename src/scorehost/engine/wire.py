"""A small HTTP/1.1 client for what streams: one exchange on one connection, cancelled by closing it."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from scorehost.aio.groups import task_group
from scorehost.aio.threads import in_thread
from scorehost.engine.tls import HalfClosingTls
from scorehost.engine.translate import FOREIGN, refused, translated, words_of
from scorehost.engine.unix_stream import UnixStream
from scorehost.errors import EngineRefused, EngineUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping

    from anyio.abc import ByteStream

    from scorehost.engine.endpoint import Endpoint, TlsFiles
    from scorehost.engine.pulse import Pulse

CONNECT_SECONDS = 10.0
HEAD_SECONDS = 60.0  # from the request's last byte to the response's head
READ_BYTES = 64 * 1024
BATCH_BYTES = 1024 * 1024  # of a body, made in one go: each way to a thread and back costs 0.1 ms
HEAD_BYTES = 64 * 1024
ERROR_BODY_BYTES = 64 * 1024
ERROR_BODY_SECONDS = 10.0  # an error status is known already; its words are worth this wait
SWITCHING = 101
FIRST_ERROR = 400
BODILESS = (204, 304)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `doing` finishes "asked to …" in messages.

    `body` is `length` bytes in parts; None: until its end. `head_seconds` None: however long it takes.
    """

    doing: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: Iterable[bytes] = ()
    length: int | None = 0
    head_seconds: float | None = HEAD_SECONDS
    closing: bool = False  # ends or removes something: not waited for when the engine hangs


def ssl_context(files: TlsFiles) -> ssl.SSLContext:
    """The TLS client settings that the files ask for; OSError when one cannot be read."""
    context = ssl.create_default_context(cafile=str(files.ca) if files.ca else None)
    if not files.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if files.cert and files.key:
        context.load_cert_chain(str(files.cert), str(files.key))
    return context


async def connect(endpoint: Endpoint) -> ByteStream:
    """An open connection; foreign exceptions as they come."""
    with anyio.fail_after(CONNECT_SECONDS):
        if endpoint.kind == "unix":
            return await UnixStream.connect(endpoint.address)
        stream = await anyio.connect_tcp(endpoint.address, endpoint.port)
        if endpoint.tls is None:
            return stream
        try:
            return await HalfClosingTls.wrap(stream, ssl_context(endpoint.tls), endpoint.address)
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise


class Response:
    """The head of an answer, and its body or upgraded stream behind it."""

    def __init__(
        self, stream: ByteStream, request: Request, endpoint: Endpoint, pulse: Pulse | None = None
    ) -> None:
        self._stream = stream
        self._request = request
        self._endpoint = endpoint
        self._pulse = pulse
        self._buffer = bytearray()
        self.status = 0
        self.headers: dict[str, str] = {}

    def translated(self, error: BaseException) -> BaseException:
        """Our exception for a foreign one of this exchange."""
        return translated(error, doing=self._request.doing, endpoint=self._endpoint)

    def broken(self, why: str) -> EngineUnreachable:
        """The connection ended, or carried what it should not."""
        return EngineUnreachable(
            f"The Docker engine at {self._endpoint} {why} when asked to {self._request.doing}.",
            hint="See that it still runs: `docker version`.",
        )

    async def send(self, data: bytes) -> None:
        """Writes all of `data`; EngineUnreachable when the other side has gone."""
        try:
            await self._stream.send(data)
        except FOREIGN as error:
            raise self.translated(error) from error

    async def send_eof(self) -> None:
        """Half-closes; quiet when the other side has gone already."""
        try:
            await self._stream.send_eof()
        except FOREIGN:
            return  # nobody is left who could read the end of file

    async def receive(self) -> bytes:
        """Some bytes as they come, what stood behind the head first; b"" at the end of the connection."""
        if self._buffer:
            data = bytes(self._buffer[:READ_BYTES])
            del self._buffer[:READ_BYTES]
            return data
        try:
            return await self._stream.receive(READ_BYTES)
        except anyio.EndOfStream:
            return b""
        except FOREIGN as error:
            raise self.translated(error) from error

    async def read_head(self) -> None:
        """Reads status and headers, keeping what came behind them."""
        while True:
            while (end := self._buffer.find(b"\r\n\r\n")) < 0:
                if len(self._buffer) > HEAD_BYTES:
                    raise self.broken("answers with an endless head")
                data = await self._more()
                if not data:
                    raise self.broken("closed the connection")
            head = self._buffer[:end].decode("latin-1").split("\r\n")
            del self._buffer[: end + 4]
            version, _, rest = head[0].partition(" ")
            code = rest[:3]
            if not version.startswith("HTTP/1.") or not code.isdigit():
                raise self.broken("speaks no HTTP")
            self.status = int(code)
            pairs = (line.partition(":") for line in head[1:])
            self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            if self.status >= 200 or self.status == SWITCHING:  # noqa: PLR2004 - 1xx go ahead of the answer
                return

    async def _more(self) -> bytes:
        try:
            data = await self._patiently()
        except anyio.EndOfStream:
            return b""
        except FOREIGN as error:
            raise self.translated(error) from error
        self._buffer += data
        return data

    async def _patiently(self) -> bytes:
        """The next bytes, however long they take while the engine is there. A stream is safe to ask again."""
        pulse, closing = self._pulse, self._request.closing
        if pulse is None:
            return await self._stream.receive(READ_BYTES)
        while True:
            with anyio.move_on_after(pulse.patience(closing=closing)):
                return await self._stream.receive(READ_BYTES)
            await pulse.check(self._request.doing, closing=closing)
            closing = False  # it is there, and slow

    async def body(self) -> AsyncGenerator[bytes, None]:
        """The body in parts as they come; EngineUnreachable when it ends too early."""
        if self.status in BODILESS:
            return
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            async for data in self._chunks():
                yield data
        elif "content-length" in self.headers:
            left = self._number(self.headers["content-length"], 10)
            while left:
                data = await self.receive()
                if not data:
                    raise self.broken("broke off its answer")
                left -= len(data)
                yield data
        else:
            while data := await self.receive():
                yield data

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            size = self._number((await self._line()).decode("latin-1"), 16)
            if not size:
                return
            while size:
                if not self._buffer and not await self._more():
                    raise self.broken("broke off its answer")
                part = bytes(self._buffer[:size])
                del self._buffer[:size]
                size -= len(part)
                yield part
            await self._line()

    def _number(self, text: str, base: int) -> int:
        try:
            return int(text, base)
        except ValueError:
            raise self.broken("speaks no HTTP") from None

    async def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > HEAD_BYTES or not await self._more():
                raise self.broken("broke off its answer")
        line = bytes(self._buffer[:end]).partition(b";")[0]
        del self._buffer[: end + 2]
        return line

    async def read(self, limit: int) -> bytes:
        """The body, at most `limit` bytes of it."""
        collected = bytearray()
        async for data in self.body():
            collected += data
            if len(collected) >= limit:
                break
        return bytes(collected[:limit])

    async def refusal(self) -> EngineRefused:
        """The exception for an error status, with the engine's words from the body."""
        body = b""
        if self._request.method != "HEAD":  # to which no answer has a body, whatever length it names
            with anyio.move_on_after(ERROR_BODY_SECONDS):
                body = await self.read(ERROR_BODY_BYTES)
        return refused(self.status, words_of(body), self._request.doing)


@asynccontextmanager
async def exchange(
    endpoint: Endpoint, request: Request, pulse: Pulse | None = None
) -> AsyncIterator[Response]:
    """Sends `request` on a new connection and gives the answer once its head is there.

    Raises EngineUnreachable, EngineTimeout, and EngineRefused with its kinds for a status of 400 and above.
    With `pulse` an engine that hangs is EngineHangs as soon as that is known, not when time is up.
    The connection is closed at once on leaving, however it is left.
    """
    if pulse is not None:
        pulse.fresh(request.doing, closing=request.closing)
    try:
        stream = await connect(endpoint)
    except FOREIGN as error:
        raise translated(error, doing=request.doing, endpoint=endpoint) from error
    try:
        response = Response(stream, request, endpoint, pulse)
        lost = await _send(stream, request, pulse)
        try:
            with anyio.fail_after(request.head_seconds):
                await response.read_head()
        except TimeoutError as error:
            raise response.translated(error) from error
        except EngineUnreachable:
            if lost is None:
                raise
            raise response.translated(lost) from lost
        if response.status >= FIRST_ERROR:
            raise await response.refusal()
        if lost is not None:
            raise response.translated(lost) from lost
        yield response
    finally:
        await anyio.aclose_forcefully(stream)


async def _send(stream: ByteStream, request: Request, pulse: Pulse | None) -> Exception | None:
    """Sends head and body; gives the error when the engine stopped reading, for its answer says why.

    There is no "Connection: close": with it, Docker 20.10 did not see a build's connection go, and built on.
    """
    fields: dict[str, Any] = {"Host": "docker", "User-Agent": "scorehost", **request.headers}
    if request.length is None:
        fields["Transfer-Encoding"] = "chunked"
    else:
        fields["Content-Length"] = request.length
    lines = [
        f"{request.method} {request.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    parts = _framed(request, "\r\n".join([*lines, "", ""]).encode("latin-1"))
    making = anyio.CapacityLimiter(1)
    # A body that is made on the way reads the disk, which a thread may wait for and the event loop may not.
    in_memory = isinstance(request.body, tuple)
    while batch := _next_of(parts) if in_memory else await in_thread(lambda: _next_of(parts), making):
        # Only sending is guarded: what making the next part raises is the caller's own.
        try:
            async with nullcontext() if in_memory or pulse is None else _watched(pulse, request.doing):
                for part in batch:
                    await stream.send(part)
        except (anyio.BrokenResourceError, OSError) as error:
            return error
    return None


@asynccontextmanager
async def _watched(pulse: Pulse, doing: str) -> AsyncIterator[None]:
    """Inside the block the engine reads: when it takes long, it is asked whether it is there."""

    async def watch() -> None:
        while True:
            await anyio.sleep(pulse.patience(closing=False))
            await pulse.check(doing)

    async with task_group() as group:
        group.start_soon(watch)
        yield
        group.cancel_scope.cancel()


def _next_of(parts: Iterator[bytes]) -> list[bytes]:
    """The next parts, of `BATCH_BYTES` or a little more together; none at the end."""
    batch: list[bytes] = []
    size = 0
    for part in parts:
        batch.append(part)
        size += len(part)
        if size >= BATCH_BYTES:
            break
    return batch


def _framed(request: Request, head: bytes) -> Iterator[bytes]:
    yield head
    if request.length is not None:
        yield from request.body
        return
    for part in request.body:
        if part:  # an empty chunk would be the end
            yield b"%x\r\n%b\r\n" % (len(part), part)
    yield b"0\r\n\r\n"
