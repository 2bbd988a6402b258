"""An engine that hangs is told from one that is slow, and nobody waits for it."""

from __future__ import annotations

import time

import anyio
import pytest
from fake_daemon import GONE, VERSION, UnixListener, answer, background

from scorehost.engine import pulse
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineTimeout

pytestmark = pytest.mark.anyio


class Engine:
    """Answers its version; to all else nothing while `hangs`, and what comes late while it does not."""

    def __init__(self):
        self.hangs = True
        self.pings = 0
        self.late = 0.0

    async def __call__(self, stream):
        try:
            head = await stream.receive()
            target = head.split()[1].decode()
            if target == "/version":
                await stream.send(answer(200, VERSION))
            elif target == "/_ping" and not self.hangs:
                self.pings += 1
                await stream.send(answer(200, b"OK"))
            elif not self.hangs:
                await anyio.sleep(self.late)
                await stream.send(answer(200, {"Id": "x", "State": {"Status": "created", "Running": False}}))
            await anyio.sleep(60)
        except GONE:
            pass
        finally:
            await stream.aclose()


@pytest.fixture
async def opened(tmp_path, monkeypatch):
    """A fake engine and the door to it; patience a tenth of what it is, so that the test is quick."""
    monkeypatch.setattr(pulse, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(pulse, "PING_SECONDS", 0.3)
    fake, path = Engine(), tmp_path / "s"
    async with UnixListener(path) as listener, background(listener.serve, fake):
        async with open_engine(f"unix://{path}") as engine:
            yield fake, engine


async def seconds_of(call):
    begun = time.monotonic()
    with pytest.raises(EngineTimeout, match="hangs: it did not answer when asked to"):
        await call()
    return time.monotonic() - begun


async def test_a_call_to_an_engine_that_hangs_ends_when_that_is_known(opened):
    _, engine = opened
    assert 0.5 <= await seconds_of(lambda: engine.inspect("x")) < 5


async def test_an_upload_whose_bytes_nobody_takes_ends_when_that_is_known(opened):
    _, engine = opened
    body = (bytes(1 << 20) for _ in range(64))
    assert 0.5 <= await seconds_of(lambda: engine.upload("x", "/attempt", body)) < 5


async def test_all_closes_together_take_no_longer_than_one_when_the_engine_hangs(opened):
    _, engine = opened
    begun = time.monotonic()
    for call in (
        lambda: engine.remove("x"),
        lambda: engine.kill("y"),
        lambda: engine.list_containers({"a": "b"}),
        lambda: engine.remove_volume("z"),
    ):
        await seconds_of(call)
    assert time.monotonic() - begun < pulse.CLOSE_SECONDS + 1


async def test_an_engine_that_is_slow_and_there_is_waited_for(opened):
    fake, engine = opened
    fake.hangs, fake.late = False, 1.4
    assert (await engine.inspect("x")).id == "x"
    assert fake.pings == 2  # after 0.5 s and after 1.0 s


async def test_an_engine_that_hung_is_asked_again_once_it_is_there(opened, monkeypatch):
    fake, engine = opened
    monkeypatch.setattr(pulse, "REMEMBER_SECONDS", 0.2)
    await seconds_of(lambda: engine.inspect("x"))
    fake.hangs = False
    await anyio.sleep(0.3)
    assert (await engine.inspect("x")).id == "x"


async def test_a_close_that_gives_up_soon_makes_nobody_else_give_up(opened):
    """An engine that stood still for three seconds is waited for, whatever was to be removed meanwhile."""
    fake, engine = opened
    await seconds_of(lambda: engine.remove("x"))
    fake.hangs = False
    assert (await engine.inspect("x")).id == "x"
