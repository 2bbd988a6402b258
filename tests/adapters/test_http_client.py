"""The HTTP client against real servers on the loopback address: limits, breaks, and what it never sends."""

from __future__ import annotations

import gzip
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest
from http_endpoint import cuts, drips, endpoint, floods, sends, waits

from scorehost.adapters.http_client import HttpLimits, open_http
from scorehost.errors import CallFailed, UsageError

pytestmark = pytest.mark.anyio
CAP = 100_000
KEY = "hush-hush-99"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def http(url, *, key=KEY, environment_proxies=False, **limits):
    bounds = HttpLimits(**{"body_bytes": CAP, "connect": 5, "silence": 5, **limits})
    return open_http(url, key=key, limits=bounds, environment_proxies=environment_proxies)


@asynccontextmanager
async def asked(*answers, body=b"{}", flood_status=200, **limits):
    with endpoint(*answers, flood_status=flood_status) as (url, script):
        async with http(url, **limits) as client, client.post("chat/completions", body) as answer:
            yield answer, script


async def fault_of(*answers, flood_status=200, **limits):
    """The fault of reading one answer, and how much of it was held."""
    held = b""
    with pytest.raises(CallFailed) as caught:
        async with asked(*answers, flood_status=flood_status, **limits) as (answer, _):
            try:
                await answer.read()
            finally:
                held = bytes(answer.body)
    assert KEY not in caught.value.message
    return caught.value.fault, held


async def test_the_bytes_that_are_given_are_the_bytes_that_are_sent():
    async with asked(sends({"a": 1}), body=b'{"x":  1}\n') as (answer, script):
        assert await answer.read() == b'{"a": 1}'
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    ((_, path, headers, body),) = script.seen
    assert (path, body) == ("/v1/chat/completions", {"x": 1})
    assert headers["content-length"] == "10"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["accept-encoding"] == "identity"


async def test_without_a_key_nothing_is_authorised():
    with endpoint(sends({})) as (url, script):
        async with http(url, key=None) as client, client.post("x", b"{}") as answer:
            await answer.read()
    assert "authorization" not in script.seen[0][2]


async def test_an_answer_that_is_too_large_is_a_fault_and_never_held():
    fault, held = await fault_of(floods)
    assert (fault.kind, len(held) <= CAP) == ("adapter_overflow", True)


async def test_an_answer_of_the_greatest_size_is_read():
    async with asked(sends(b" " * CAP)) as (answer, _):
        assert len(await answer.read()) == CAP


async def test_a_compressed_answer_is_read_though_none_was_asked_for():
    for packed in (gzip.compress(b'{"a": 1}'), zlib.compress(b'{"a": 1}')):
        async with asked(sends(packed, Content_Encoding="gzip")) as (answer, _):
            assert await answer.read() == b'{"a": 1}'


async def test_a_compressed_answer_that_unfolds_without_end_is_a_fault_and_never_held():
    fault, held = await fault_of(sends(gzip.compress(b" " * 50_000_000), Content_Encoding="gzip"))
    assert (fault.kind, len(held) <= CAP) == ("adapter_overflow", True)


@pytest.mark.parametrize("coding", ["br", "gzip"])
async def test_an_encoding_that_cannot_be_read_is_malformed(coding):
    fault, _ = await fault_of(sends(b"not packed at all", Content_Encoding=coding))
    assert fault.kind == "adapter_malformed"


@pytest.mark.parametrize("answer", [waits(3), drips])
async def test_silence_ends_at_its_limit(answer):
    began = time.monotonic()
    # `drips` sends a byte each tenth of a second: a limit below that is reached between two of them.
    fault, _ = await fault_of(answer, silence=0.05)
    assert (fault.kind, time.monotonic() - began < 2) == ("adapter_timeout", True)


async def test_a_cancel_ends_an_answer_that_drips():
    began = time.monotonic()
    async with asked(drips) as (answer, _):
        with anyio.move_on_after(0.5) as deadline:
            await answer.read()
    assert deadline.cancelled_caught
    assert time.monotonic() - began < 3
    assert answer.body.strip() == b""


@pytest.mark.parametrize("answer", [cuts(), cuts(b"{")])
async def test_an_answer_that_is_cut_off_is_a_fault(answer):
    fault, held = await fault_of(answer)
    assert (fault.kind, held in (b"", b"{")) == ("adapter_exit", True)


async def test_a_connection_that_is_reset_in_the_middle_is_a_fault():
    def resets(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"{")
        # Closed with nothing to linger for: the kernel sends RST.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True

    fault, _ = await fault_of(resets)
    assert fault.kind == "adapter_exit"


async def test_what_does_not_speak_http_is_a_fault():
    def speaks_otherwise(handler):
        handler.wfile.write(b"220 mail.example ESMTP\r\n")
        handler.close_connection = True

    fault, _ = await fault_of(speaks_otherwise)
    assert (fault.kind, "does not speak HTTP" in fault.message) == ("adapter_exit", True)


async def test_nothing_that_listens_is_said_with_its_place():
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(CallFailed, match=f"nothing listens at {place}") as caught:
        async with http(f"http://{place}/v1") as client, client.post("x", b"{}"):
            pass
    assert caught.value.fault.kind == "adapter_exit"


async def test_a_host_name_that_nobody_knows_is_said():
    with pytest.raises(CallFailed, match=r"the host name of nowhere\.invalid is unknown"):
        async with http("http://nowhere.invalid/v1") as client, client.post("x", b"{}"):
            pass


async def test_a_redirect_is_an_answer_and_the_key_goes_nowhere_else():
    with endpoint(sends({})) as (elsewhere, other):
        async with asked(sends({}, 307, Location=f"{elsewhere}/chat/completions")) as (answer, _):
            await answer.read()
            assert answer.status == 307
    assert other.seen == []


async def test_the_content_type_is_not_what_decides():
    for kind in ("text/html", "text/event-stream", "application/json; charset=utf-16"):
        async with asked(sends(b'{"a": 1}', Content_Type=kind)) as (answer, _):
            assert await answer.read() == b'{"a": 1}'


async def test_a_connection_is_used_again_after_an_answer_that_was_read():
    ports = []

    def notes(handler):
        ports.append(handler.client_address[1])
        handler.protocol_version, handler.close_connection = "HTTP/1.1", False
        sends({})(handler)

    with endpoint(notes) as (url, _):
        async with http(url) as client:
            for _ in range(3):
                async with client.post("x", b"{}") as answer:
                    await answer.read()
    assert (len(ports), len(set(ports))) == (3, 1)


async def test_proxies_of_the_environment_count_only_when_asked_for(monkeypatch):
    with endpoint(sends({"proxy": True})) as (proxy, seen_by_proxy), endpoint(sends({})) as (url, seen):
        monkeypatch.setenv("http_proxy", proxy.removesuffix("/v1"))
        async with http(url) as client, client.post("x", b"{}") as answer:
            assert await answer.read() == b"{}"
        assert (len(seen_by_proxy.seen), len(seen.seen)) == (0, 1)
        async with http(url, environment_proxies=True) as client, client.post("x", b"{}") as answer:
            assert await answer.read() == b'{"proxy": true}'
        assert (len(seen_by_proxy.seen), len(seen.seen)) == (1, 1)


async def test_a_proxy_that_cannot_be_used_is_the_users_to_mend(monkeypatch):
    monkeypatch.setenv("all_proxy", "gopher://127.0.0.1:9")
    with pytest.raises(UsageError, match="HTTPS_PROXY"):
        async with http("http://127.0.0.1:9/v1", environment_proxies=True):
            pass


@pytest.mark.parametrize("key", ["with a line end\n", " ahead", "schlüssel", "a\0b", "a\r\nX-Evil: 1"])
async def test_a_key_that_no_header_can_carry_is_refused_and_not_printed(key):
    with pytest.raises(UsageError) as caught:
        async with http("http://127.0.0.1:9/v1", key=key):
            pass
    assert key.strip() not in str(caught.value)


@contextmanager
def tls_server(folder):
    """A TLS server whose certificate nobody here has signed; gives its port."""
    cert, private = folder / "cert.pem", folder / "key.pem"
    command = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    place = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1")
    subprocess.run(
        [*command, *place, "-keyout", private, "-out", cert], check=True, capture_output=True, timeout=60
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, private)
    heard = []

    def serve(listener):
        with listener.accept()[0] as plain:
            plain.settimeout(10)
            try:
                with context.wrap_socket(plain, server_side=True) as stream:
                    heard.append(stream.recv(100))
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            thread.join()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
async def test_a_certificate_that_nobody_signed_ends_the_call_before_the_key_is_sent(tmp_path):
    with tls_server(tmp_path) as (port, heard):
        with pytest.raises(CallFailed, match=r"the certificate of .* is not one that this machine trusts"):
            async with http(f"https://127.0.0.1:{port}/v1") as client, client.post("x", b"{}"):
                pass
    assert heard == []
