"""Which engine is taken, in the docker command's own order, and what is refused with which words."""

from __future__ import annotations

import hashlib
import json

import pytest

from scorehost.engine.endpoint import resolve
from scorehost.errors import UsageError


def add_context(home, name, host, *, pem=(), skip=False):
    folder = hashlib.sha256(name.encode()).hexdigest()
    meta = home / ".docker/contexts/meta" / folder
    meta.mkdir(parents=True)
    endpoint = {"Host": host, "SkipTLSVerify": skip}
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": endpoint}}))
    for file in pem:
        tls = home / ".docker/contexts/tls" / folder / "docker"
        tls.mkdir(parents=True, exist_ok=True)
        (tls / file).write_text("pem")


def choose_context(home, name):
    (home / ".docker").mkdir(exist_ok=True)
    (home / ".docker/config.json").write_text(json.dumps({"currentContext": name}))


def test_with_nothing_said_it_is_the_default_socket(tmp_path):
    assert resolve(None, environ={}, home=tmp_path).url == "unix:///var/run/docker.sock"


def test_the_order_is_host_then_docker_host_then_docker_context_then_current_context(tmp_path):
    add_context(tmp_path, "current", "unix:///current.sock")
    add_context(tmp_path, "named", "unix:///named.sock")
    choose_context(tmp_path, "current")
    environ = {"DOCKER_HOST": "unix:///env.sock", "DOCKER_CONTEXT": "named"}
    assert resolve("unix:///given.sock", environ=environ, home=tmp_path).address == "/given.sock"
    assert resolve(None, environ=environ, home=tmp_path).address == "/env.sock"
    del environ["DOCKER_HOST"]
    assert resolve(None, environ=environ, home=tmp_path).address == "/named.sock"
    del environ["DOCKER_CONTEXT"]
    assert resolve(None, environ=environ, home=tmp_path).address == "/current.sock"


def test_the_source_is_named_for_messages(tmp_path):
    add_context(tmp_path, "lab", "unix:///lab.sock")
    choose_context(tmp_path, "lab")
    assert "'lab'" in str(resolve(None, environ={}, home=tmp_path))


def test_the_default_context_is_the_default_socket(tmp_path):
    choose_context(tmp_path, "default")
    assert resolve(None, environ={}, home=tmp_path).address == "/var/run/docker.sock"


def test_docker_config_moves_the_folder_of_contexts(tmp_path):
    add_context(tmp_path, "lab", "unix:///lab.sock")
    environ = {"DOCKER_CONFIG": str(tmp_path / ".docker"), "DOCKER_CONTEXT": "lab"}
    assert resolve(None, environ=environ, home=tmp_path / "elsewhere").address == "/lab.sock"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("tcp://engine.example:2375", "tcp://engine.example:2375"),
        ("tcp://engine.example", "tcp://engine.example:2375"),
        ("tcp://[::1]:99", "tcp://[::1]:99"),
        ("http://127.0.0.1:1234/", "tcp://127.0.0.1:1234"),
        ("https://engine.example", "tcp://engine.example:2376"),
        ("UNIX:///x y.sock", "unix:///x y.sock"),
    ],
)
def test_addresses_as_the_docker_command_takes_them(tmp_path, text, url):
    assert resolve(text, environ={}, home=tmp_path).url == url


def test_tls_comes_from_the_environment_with_its_own_port(tmp_path):
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("pem")
    environ = {"DOCKER_HOST": "tcp://e.example", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": str(tmp_path)}
    found = resolve(None, environ=environ, home=tmp_path)
    assert found.port == 2376
    assert found.tls is not None
    assert (found.tls.ca, found.tls.cert, found.tls.key) == tuple(
        tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")
    )
    assert found.tls.verify is True


def test_an_empty_docker_tls_verify_is_no_tls(tmp_path):
    environ = {"DOCKER_HOST": "tcp://e.example", "DOCKER_TLS_VERIFY": ""}
    assert resolve(None, environ=environ, home=tmp_path).tls is None


@pytest.mark.parametrize(("skip", "verify"), [(False, True), (True, False)])
def test_tls_of_a_context_is_its_own(tmp_path, skip, verify):
    add_context(tmp_path, "far", "tcp://far.example:2376", pem=("ca.pem",), skip=skip)
    tls = resolve(None, environ={"DOCKER_CONTEXT": "far"}, home=tmp_path).tls
    assert tls is not None
    assert tls.ca is not None
    assert (tls.cert, tls.verify) == (None, verify)


@pytest.mark.parametrize(
    "text",
    [
        "localhost:2375",
        "/var/run/docker.sock",
        "unix://relative.sock",
        "unix://",
        "tcp://",
        "tcp://:2375",
        "tcp://host:port",
        "tcp://host:99999",
        "tcp://host:1/path",
        "tcp://host:1?query",
        "ftp://host",
        "tcp://user:hunter2@host:1",
    ],
)
def test_a_malformed_address_says_what_is_wrong_and_how_to_write_one(tmp_path, text):
    with pytest.raises(UsageError) as refusal:
        resolve(None, environ={"DOCKER_HOST": text}, home=tmp_path)
    assert refusal.value.message.startswith("DOCKER_HOST")
    assert "tcp://HOST:PORT" in refusal.value.hint
    assert "hunter2" not in str(refusal.value)


def test_ssh_is_refused_with_the_command_that_forwards_the_socket(tmp_path):
    with pytest.raises(UsageError) as refusal:
        resolve("ssh://me@far.example", environ={}, home=tmp_path)
    assert "ssh -nNT -L" in refusal.value.hint
    assert "me@far.example" in refusal.value.hint
    assert "DOCKER_HOST=" in refusal.value.hint


def test_npipe_is_refused_with_a_way_to_a_linux_engine(tmp_path):
    with pytest.raises(UsageError) as refusal:
        resolve("npipe:////./pipe/docker_engine", environ={}, home=tmp_path)
    assert "WSL" in refusal.value.hint
    assert "ssh -nNT -L" in refusal.value.hint


@pytest.mark.parametrize("by", ["environment", "config"])
def test_an_unknown_context_is_named_with_who_named_it(tmp_path, by):
    environ = {"DOCKER_CONTEXT": "nosuch"} if by == "environment" else {}
    if by == "config":
        choose_context(tmp_path, "nosuch")
    with pytest.raises(UsageError) as refusal:
        resolve(None, environ=environ, home=tmp_path)
    assert "'nosuch'" in refusal.value.message
    assert ("DOCKER_CONTEXT" if by == "environment" else "config.json") in refusal.value.message
    assert "docker context ls" in refusal.value.hint


def test_a_broken_docker_configuration_is_named(tmp_path):
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker/config.json").write_text("{")
    with pytest.raises(UsageError) as refusal:
        resolve(None, environ={}, home=tmp_path)
    assert "config.json" in refusal.value.message
