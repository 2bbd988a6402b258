"""Each way not to have an engine has its own message, with what to type."""

from __future__ import annotations

import dataclasses
import os
import socket
from contextlib import contextmanager

import pytest
from fake_daemon import INFO, VERSION, answer, daemon

from scorehost.engine.memory_state import INFO as MEMORY_INFO
from scorehost.engine.opening import open_engine
from scorehost.engine.unenforced import limits_not_enforced
from scorehost.errors import EngineUnreachable

pytestmark = pytest.mark.anyio


async def refusal(host) -> EngineUnreachable:
    with pytest.raises(EngineUnreachable) as refused:
        async with open_engine(host):
            pass
    assert refused.value.hint
    return refused.value


async def test_a_missing_socket_is_said_to_be_missing(tmp_path):
    error = await refusal(f"unix://{tmp_path}/none.sock")
    assert "There is no Docker socket" in error.message
    assert "systemctl start docker" in error.hint


async def test_a_socket_that_nobody_serves_is_said_to_have_no_engine(tmp_path):
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    error = await refusal(f"unix://{path}")
    assert "Nothing listens" in error.message


async def test_a_tcp_port_that_nobody_serves_is_said_to_have_no_engine():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    error = await refusal(f"tcp://127.0.0.1:{port}")
    assert "Nothing listens" in error.message


@contextmanager
def without_rights():
    """Root may use every socket, so the body runs as nobody where the tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(before)


async def test_a_socket_without_permission_is_said_to_need_the_group(tmp_path):
    path = tmp_path / "shut.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0)
        with without_rights():
            error = await refusal(f"unix://{path}")
    assert "No permission" in error.message
    assert "usermod -aG docker" in error.hint


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n\r\n",
        answer(200, b"<html>hello</html>"),
        answer(200, ["a", "list"]),
        answer(200, {"ApiVersion": "new"}),
        answer(404, b"not here"),
    ],
)
async def test_something_that_is_no_docker_engine_is_said_to_be_none(tmp_path, said):
    path = tmp_path / "s"
    async with daemon(path, lambda _method, _path: said):
        error = await refusal(f"unix://{path}")
    assert "no Docker engine" in error.message or "speaks no HTTP" in error.message


async def test_an_engine_that_is_too_old_is_named_with_what_is_needed(tmp_path):
    path = tmp_path / "s"
    old = answer(200, {**VERSION, "ApiVersion": "1.40"})
    async with daemon(path, lambda _method, _path: old):
        error = await refusal(f"unix://{path}")
    assert "1.40" in error.message
    assert "1.41" in error.message


@pytest.mark.parametrize(
    ("newest", "oldest", "prefix"),
    [("1.41", "1.12", "/v1.41/"), ("1.50", "1.24", "/v1.41/"), ("1.52", "1.44", "/v1.44/")],
)
async def test_the_oldest_api_that_both_sides_know_is_spoken(tmp_path, newest, oldest, prefix):
    path = tmp_path / "s"

    def script(_method, target):
        if target.endswith("/info"):
            return answer(200, INFO)
        return answer(200, {**VERSION, "ApiVersion": newest, "MinAPIVersion": oldest})

    async with daemon(path, script) as requests, open_engine(f"unix://{path}") as engine:
        await engine.info()
    assert {target for _, target in requests} == {"/version", f"{prefix}info", f"{prefix}version"}


@pytest.mark.parametrize(
    ("warning", "limit"),
    [
        ("WARNING: No memory limit support", "memory_mb"),
        ("WARNING: No swap limit support", "memory_mb (swap is not limited)"),
        ("WARNING: No cpu cfs quota support", "cpus"),
        ("WARNING: No pids limit support", "pids"),
    ],
)
def test_a_warning_of_the_engine_names_the_limit_that_does_not_hold(warning, limit):
    info = dataclasses.replace(MEMORY_INFO, warnings=(warning,))
    assert limits_not_enforced(info) == [f"{limit}: {warning.removeprefix('WARNING: ')}"]


def test_a_warning_about_something_else_touches_no_limit():
    others = ("WARNING: bridge-nf-call-iptables is disabled", "WARNING: No blkio throttle support")
    assert limits_not_enforced(dataclasses.replace(MEMORY_INFO, warnings=others)) == []


async def test_a_limit_that_only_a_field_denies_is_told_too(tmp_path):
    path = tmp_path / "s"

    def script(_method, target):
        return answer(200, {**INFO, "PidsLimit": False} if target.endswith("/info") else VERSION)

    async with daemon(path, script), open_engine(f"unix://{path}") as engine:
        assert limits_not_enforced(await engine.info()) == ["pids: No pids limit support"]
