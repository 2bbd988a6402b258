"""Nothing of an exec's output is lost, however the connection cuts it."""

from __future__ import annotations

import socket

import anyio
import pytest
from contract_kit import FLOOD, IMAGE, USER, exit_code, read_all
from fake_daemon import UnixListener, as_it_comes, byte_by_byte, coalesced, daemon, proxy

from scorehost.engine.endpoint import Endpoint, resolve
from scorehost.engine.hijack import hijack
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineUnreachable, NotFound

pytestmark = pytest.mark.anyio


@pytest.fixture
def engine(docker_engine):
    return docker_engine


async def exec_output(engine, container, argv, stdin=None):
    made = await engine.exec_create(container, argv, user=USER, env={}, workdir="/", stdin=stdin is not None)
    async with engine.exec_start(made) as stream:
        if stdin is not None:
            await stream.send(stdin)
            await stream.close_stdin()
        output = await read_all(stream)
    return await exit_code(engine, made), output


@pytest.mark.docker
@pytest.mark.parametrize("relay", [coalesced, byte_by_byte, as_it_comes])
async def test_no_output_is_lost_behind_a_proxy(engine, make_spec, tmp_path, relay):
    container = await engine.create(make_spec())
    await engine.start(container)
    path = tmp_path / "proxy.sock"
    async with (
        proxy(resolve(None).address, UnixListener(path), relay),
        open_engine(f"unix://{path}") as behind,
    ):
        for _ in range(3):
            code, output = await exec_output(behind, container, ["sh", "-c", "echo a; echo b >&2; cat"], b"c")
            assert (code, output) == (0, {"stdout": b"a\nc", "stderr": b"b\n"})


@pytest.mark.docker
async def test_attach_and_exec_work_over_tcp(engine, make_spec):
    spec = make_spec("cat", stdin=True)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - anyio's attribute, no SQL
    async with (
        proxy(resolve(None).address, listener, as_it_comes),
        open_engine(f"tcp://127.0.0.1:{port}") as far,
    ):
        assert (await far.image(IMAGE)).id == spec.image
        container = await far.create(spec)
        async with far.attach(container) as stream:
            await far.start(container)
            _, output = await exec_output(far, container, ["sh", "-c", FLOOD])
            assert output["stdout"] == bytes(3_000_000) + b"end\n"
            await stream.send(b"to the end")
            await stream.close_stdin()
            assert await read_all(stream) == {"stdout": b"to the end", "stderr": b""}
        await far.remove(container)


def scripted(said: bytes):
    return lambda _method, _path: said


HEAD_101 = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
HEAD_200 = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"
FRAME = b"\x01\0\0\0\0\0\0\x05hello"


async def received(path, said):
    endpoint = Endpoint("unix", str(path), 0, "a test")
    async with daemon(path, scripted(said)), hijack(endpoint, "/x", doing="attach") as stream:
        return await read_all(stream)


@pytest.mark.parametrize("head", [HEAD_101, HEAD_200, b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD_101])
async def test_an_engine_may_answer_101_or_200_and_output_may_stand_right_behind_the_head(tmp_path, head):
    assert (await received(tmp_path / "s", head + FRAME))["stdout"] == b"hello"


async def test_output_that_is_cut_off_inside_a_frame_is_an_error_and_no_end(tmp_path):
    with pytest.raises(EngineUnreachable):
        await received(tmp_path / "s", HEAD_101 + FRAME[:-1])


async def test_bytes_that_are_no_frames_are_an_error(tmp_path):
    with pytest.raises(EngineUnreachable):
        await received(tmp_path / "s", HEAD_101 + b"plain terminal output")


async def test_a_refusal_carries_the_engines_words(tmp_path):
    body = b'{"message":"No such exec instance"}'
    head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with pytest.raises(NotFound, match="No such exec instance"):
        await received(tmp_path / "s", head + body)


async def test_a_connection_that_closes_before_the_head_is_unreachable(tmp_path):
    with pytest.raises(EngineUnreachable):
        await received(tmp_path / "s", b"HTTP/1.1 101 UPG")


async def test_leaving_closes_the_connection_at_once(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(0)
        endpoint = Endpoint("unix", str(path), 0, "a test")
        with anyio.fail_after(2), anyio.move_on_after(0.1) as scope:
            async with hijack(endpoint, "/x", doing="attach"):
                pass
        assert scope.cancelled_caught
        accepted, _ = server.accept()
        with accepted:
            accepted.settimeout(2)
            while accepted.recv(65_536):
                pass
