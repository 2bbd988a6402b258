"""Which engine to talk to: found the way the docker command finds it, refused with what to type instead."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from scorehost.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_SOCKET = "unix:///var/run/docker.sock"
PLAIN_PORT = 2375
TLS_PORT = 2376
CONFIG_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for a TLS engine; a path of None is not used. `verify` False accepts any server."""

    ca: Path | None
    cert: Path | None
    key: Path | None
    verify: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine listens, and what said so (`source`, for messages)."""

    kind: Literal["unix", "tcp"]
    address: str  # the socket's path, or the host
    port: int
    source: str
    tls: TlsFiles | None = None

    @property
    def url(self) -> str:
        """The address as `docker -H` takes it; never holds a user or a password."""
        if self.kind == "unix":
            return f"unix://{self.address}"
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"tcp://{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.url} (from {self.source})"


def resolve(
    host: str | None, *, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Endpoint:
    """The endpoint that `host`, DOCKER_HOST, DOCKER_CONTEXT, the current docker context or the default names.

    The first of these that is set decides, as in the docker command. Nothing is connected yet. Raises
    UsageError for an address that cannot be used and for a context that does not exist.
    """
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    config = Path(environ["DOCKER_CONFIG"]) if environ.get("DOCKER_CONFIG") else home / ".docker"
    if host:
        return _parse(host, "engine.host", _tls_of_environment(environ, config))
    if environ.get("DOCKER_HOST"):
        return _parse(environ["DOCKER_HOST"], "DOCKER_HOST", _tls_of_environment(environ, config))
    if environ.get("DOCKER_CONTEXT"):
        return _of_context(environ["DOCKER_CONTEXT"], "DOCKER_CONTEXT", config, environ)
    current = _read_object(config / "config.json").get("currentContext")
    if isinstance(current, str) and current:
        return _of_context(current, f"`currentContext` of {config / 'config.json'}", config, environ)
    return _parse(DEFAULT_SOCKET, "the default", None)


def _tls_of_environment(environ: Mapping[str, str], config: Path) -> TlsFiles | None:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    if not verify and not environ.get("DOCKER_TLS"):
        return None
    folder = Path(environ["DOCKER_CERT_PATH"]) if environ.get("DOCKER_CERT_PATH") else config
    return _tls_in(folder, verify=verify)


def _tls_in(folder: Path, *, verify: bool) -> TlsFiles:
    def present(name: str) -> Path | None:
        path = folder / name
        return path if path.is_file() else None

    return TlsFiles(ca=present("ca.pem"), cert=present("cert.pem"), key=present("key.pem"), verify=verify)


def _of_context(name: str, source: str, config: Path, environ: Mapping[str, str]) -> Endpoint:
    if name == "default":
        return _parse(
            DEFAULT_SOCKET, f"the context 'default' in {source}", _tls_of_environment(environ, config)
        )
    folder = hashlib.sha256(name.encode()).hexdigest()
    meta = _read_object(config / "contexts" / "meta" / folder / "meta.json")
    docker = _object(_object(meta.get("Endpoints")).get("docker"))
    host = docker.get("Host")
    if not isinstance(host, str) or not host:
        raise UsageError(
            f"The docker context {name!r}, named by {source}, does not exist below {config / 'contexts'}.",
            hint="`docker context ls` lists them; `docker context use default` takes the default socket.",
        )
    material = config / "contexts" / "tls" / folder / "docker"
    tls = _tls_in(material, verify=docker.get("SkipTLSVerify") is not True) if material.is_dir() else None
    return _parse(host, f"the docker context {name!r}", tls)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of the docker command; {} when there is none, or one that nobody can read."""
    try:
        with path.open("rb") as file:
            return _object(json.loads(file.read(CONFIG_BYTES)))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read as JSON ({type(error).__name__}), so the docker context is unknown.",
            hint="Mend the file, or set DOCKER_HOST, such as DOCKER_HOST=unix:///var/run/docker.sock.",
        ) from None


def _parse(text: str, source: str, tls: TlsFiles | None) -> Endpoint:
    scheme, separator, rest = text.strip().partition("://")
    scheme = scheme.lower()
    if not separator:
        raise _malformed(text, source, "it has no scheme")
    if scheme == "unix":
        if not rest.startswith("/"):
            raise _malformed(text, source, "a unix socket needs an absolute path")
        return Endpoint("unix", rest, 0, source)
    if scheme == "ssh":
        target = rest.partition("/")[0] or "HOST"
        raise UsageError(
            f"{source} names an engine over ssh, which scorehost does not open by itself.",
            hint=f"Forward its socket: `ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock {target}`, "
            "then set DOCKER_HOST=unix:///tmp/engine.sock.",
        )
    if scheme == "npipe":
        raise UsageError(
            f"{source} names a Windows pipe; scoring hosts need a Linux engine.",
            hint="Run scorehost inside WSL 2, or forward the socket of a Linux machine: "
            "`ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock HOST`, then set DOCKER_HOST=unix:///tmp/engine.sock.",
        )
    if scheme not in {"tcp", "http", "https"}:
        raise _malformed(text, source, f"the scheme {scheme[:32]!r} is unknown")
    if scheme == "https" and tls is None:
        tls = TlsFiles(ca=None, cert=None, key=None, verify=True)
    return _parse_tcp(text, rest, source, tls)


def _parse_tcp(text: str, rest: str, source: str, tls: TlsFiles | None) -> Endpoint:
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _malformed(text, source, "host or port cannot be read") from None
    if not host:
        raise _malformed(text, source, "the host is missing")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise _malformed(text, source, "only host and port may follow the scheme")
    if parts.username is not None or parts.password is not None:
        raise _malformed(text, source, "a user or password in it cannot be used")
    return Endpoint("tcp", host, port or (TLS_PORT if tls else PLAIN_PORT), source, tls)


def _malformed(text: str, source: str, why: str) -> UsageError:
    shown = "" if "@" in text else f" ({text.strip()[:200]!r})"  # what stands before an @ may be a password
    return UsageError(
        f"{source}{shown} is no address of an engine: {why}.",
        hint="Write unix:///var/run/docker.sock or tcp://HOST:PORT; `unset DOCKER_HOST` takes the default.",
    )
