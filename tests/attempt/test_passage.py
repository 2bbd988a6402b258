"""The passage of these tests breaks as an engine does: at once, and without trouble in the event loop."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from pathlib import Path

import anyio
import pytest
from passage import passage

from scorehost.engine.unix_stream import UnixStream

pytestmark = pytest.mark.anyio


async def test_a_passage_that_closes_in_the_turn_in_which_bytes_come_sets_no_future_twice():
    trouble = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))
    with tempfile.TemporaryDirectory(prefix="sh-") as folder, socket.socket(socket.AF_UNIX) as engine:
        engine.bind(f"{folder}/engine")
        engine.listen(8)
        async with passage(Path(folder) / "way", f"{folder}/engine") as way:
            client = await UnixStream.connect(f"{folder}/way")
            await anyio.sleep(0.05)
            other = engine.accept()[0]
            await client.send(b"x")
            other.send(b"y")
            late = await UnixStream.connect(f"{folder}/way")
            await asyncio.sleep(0)
            way.close()
        await anyio.sleep(0.01)
        with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            while True:
                await client.receive()
        await client.aclose()
        await late.aclose()
        other.close()
    assert trouble == []
