"""A unix socket as a stream: how it ends."""

from __future__ import annotations

import socket

import anyio
import pytest

from scorehost.engine.unix_stream import UnixStream

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ours.settimeout(0)
    stream = UnixStream(ours)
    yield stream, theirs
    theirs.close()
    await stream.aclose()


async def test_a_peer_that_closes_with_our_bytes_unread_ends_the_stream_after_its_own_were_read(pair):
    stream, theirs = pair
    theirs.sendall(b"last words")
    await stream.send(b"never read")
    theirs.close()  # the kernel says: connection reset
    assert await stream.receive() == b"last words"
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
    with pytest.raises(anyio.BrokenResourceError):
        await stream.send(b"x")


async def test_a_stream_that_is_closed_here_says_so(pair):
    stream, _ = pair
    await stream.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await stream.receive()
