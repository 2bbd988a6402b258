"""Servers that tests put where an engine would be: scripted answers, and proxies that cut bytes."""

from __future__ import annotations

import json
import re
import socket
import ssl
from contextlib import asynccontextmanager, suppress

import anyio

from scorehost.engine.unix_stream import UnixStream

GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
VERSION = {"Version": "20.10.0", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}
INFO = {
    "DefaultRuntime": "runc",
    "Runtimes": {"runc": {}},
    "NCPU": 2,
    "MemTotal": 1,
    "SystemTime": "2026-01-01T00:00:00Z",
}


@asynccontextmanager
async def background(work, *arguments):
    """Runs `work` beside the body; an error of the body comes out as it is, in no group."""
    failed = []
    async with anyio.create_task_group() as group:
        group.start_soon(work, *arguments)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)
        group.cancel_scope.cancel()
    if failed:
        raise failed[0]


@asynccontextmanager
async def closing_quietly(stream):
    """Closes at the end; a TLS stream that its peer or another task has closed already complains."""
    try:
        yield
    finally:
        with suppress(*GONE, ssl.SSLError):
            await stream.aclose()


class UnixListener:
    """Accepts connections of the kind that the engine's own client uses."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(16)
        self._socket.settimeout(0)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self._socket.close()

    async def serve(self, handle):
        async with anyio.create_task_group() as group:
            while True:
                await anyio.wait_readable(self._socket)
                connection, _ = self._socket.accept()
                connection.settimeout(0)
                group.start_soon(handle, UnixStream(connection))


def answer(status: int, value) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


async def read_request(stream) -> tuple[str, str, bytes]:
    """Method, path and body of one request with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    while found and len(body) < int(found[1]):
        body += await stream.receive()
    method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
    return method, path, body


@asynccontextmanager
async def daemon(path, script):
    """Listens on a unix socket. `script(method, path)` gives the answer, or None to hang up without one."""
    requests = []

    async def serve(stream):
        async with stream:
            with suppress(*GONE):
                method, target, _ = await read_request(stream)
                requests.append((method, target))
                if (said := script(method, target)) is not None:
                    await stream.send(said)

    async with UnixListener(path) as listener, background(listener.serve, serve):
        yield requests


@asynccontextmanager
async def proxy(target, listener, relay):
    """Forwards to the unix socket `target`; `relay(source, sink)` moves what the engine answers."""

    async def serve(client):
        async with closing_quietly(client), await UnixStream.connect(target) as engine:

            async def answers():
                with suppress(*GONE):
                    await relay(engine, client)
                # The client has all of it: closing ends the other direction too, without a cancel.
                with suppress(*GONE, anyio.BusyResourceError, ssl.SSLError):
                    await anyio.aclose_forcefully(client)

            async with anyio.create_task_group() as group:
                group.start_soon(answers)
                with suppress(*GONE):
                    await as_it_comes(client, engine)
                with suppress(*GONE, OSError):
                    await engine.send_eof()

    async with listener, background(listener.serve, serve):
        yield


async def as_it_comes(source, sink):
    while True:
        await sink.send(await source.receive())


async def byte_by_byte(source, sink):
    while True:
        for byte in await source.receive():
            await sink.send(bytes([byte]))


async def coalesced(source, sink):
    """Holds everything back for a moment, so that head and first output arrive in one piece."""
    while True:
        data = await source.receive()
        with anyio.move_on_after(0.4), suppress(*GONE):
            while True:
                data += await source.receive()
        await sink.send(data)
