"""An engine behind TLS: verified, and with an end of stdin that does not cut the output off."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.streams.tls import TLSListener
from contract_kit import USER, exit_code, read_all
from fake_daemon import as_it_comes, proxy

from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineUnreachable

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.docker,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate"),
]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A folder as DOCKER_CERT_PATH wants it; the server at 127.0.0.1 has the same certificate."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    shutil.copy(folder / "cert.pem", folder / "ca.pem")
    return folder


@asynccontextmanager
async def tls_proxy(certificate):
    """The port of a TLS proxy in front of the real engine."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate / "ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    number = plain.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - anyio's attribute, no SQL
    async with proxy(resolve(None).address, TLSListener(plain, context), as_it_comes):
        yield number


@pytest.fixture
def trusting(monkeypatch, certificate):
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(certificate))


async def test_an_exec_over_tls_reads_stdin_to_its_end_and_then_answers(
    certificate, trusting, make_real_spec
):
    data = bytes(range(256)) * 1000
    async with tls_proxy(certificate) as port, open_engine(f"tcp://127.0.0.1:{port}") as engine:
        container = await engine.create(make_real_spec())
        await engine.start(container)
        made = await engine.exec_create(
            container, ["sh", "-c", "wc -c; echo after"], user=USER, env={}, workdir="/", stdin=True
        )
        async with engine.exec_start(made) as stream:
            await stream.send(data)
            await stream.close_stdin()
            with anyio.fail_after(20):
                output = await read_all(stream)
        assert output["stdout"].split() == [b"256000", b"after"]
        assert await exit_code(engine, made) == 0


async def test_a_server_with_an_unknown_certificate_is_refused(certificate, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
    async with tls_proxy(certificate) as port:
        with pytest.raises(EngineUnreachable) as refused:
            async with open_engine(f"tcp://127.0.0.1:{port}"):
                pass
    assert "TLS" in refused.value.message
    assert "DOCKER_CERT_PATH" in refused.value.hint
