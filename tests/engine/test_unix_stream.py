"""A unix socket as a stream: how it ends."""

from __future__ import annotations

import asyncio
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


@pytest.mark.parametrize("meet", ["bytes", "end", "room"])
async def test_a_cancel_in_the_turn_of_the_loop_in_which_something_comes_is_quiet(pair, meet):
    """As when the engine breaks off: whoever reads is cancelled, and the same turn has news of the socket."""
    stream, theirs = pair
    trouble = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))
    async with anyio.create_task_group() as group:
        group.start_soon(stream.receive if meet != "room" else lambda: stream.send(bytes(10_000_000)))
        await anyio.sleep(0.01)
        if meet == "bytes":
            theirs.send(b"x")
        elif meet == "end":
            theirs.shutdown(socket.SHUT_WR)
        else:
            theirs.recv(10_000_000)
        # The news are seen at the begin of the next turn, and this task goes on before they are told.
        await asyncio.sleep(0)
        group.cancel_scope.cancel()
    await anyio.sleep(0.01)
    assert trouble == []
