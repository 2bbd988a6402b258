"""Finds an engine, makes sure that it is one that can be used, and opens it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import docker
import docker.tls

from scorehost.aio.threads import in_thread
from scorehost.engine.calls import ANSWER_SECONDS
from scorehost.engine.docker_engine import DockerEngine
from scorehost.engine.endpoint import Endpoint, resolve
from scorehost.engine.translate import FOREIGN, translated
from scorehost.engine.wire import Request, exchange
from scorehost.errors import EngineRefused, EngineUnreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scorehost.engine.door import Engine

API = (1, 41)  # what is spoken, wherever the engine still takes it: the same behaviour on every engine
PROBE_SECONDS = 15.0
PROBE_BYTES = 1024 * 1024


@asynccontextmanager
async def open_engine(host: str | None = None) -> AsyncIterator[Engine]:
    """The engine that `host`, the environment, the docker context or the default socket names.

    Raises UsageError for an address that cannot be used, EngineUnreachable when no usable engine answers.
    """
    endpoint = resolve(host)
    prefix = await probe(endpoint)
    limiter = anyio.CapacityLimiter(1)
    client = await in_thread(lambda: _client(endpoint, prefix.removeprefix("/v")), limiter)
    try:
        yield DockerEngine(client, endpoint, prefix)
    finally:
        client.close()


async def probe(endpoint: Endpoint) -> str:
    """The path prefix (`/v1.41`) of the API to speak there; EngineUnreachable when none fits."""
    request = Request("say its version", "GET", "/version", {}, head_seconds=PROBE_SECONDS)
    try:
        async with exchange(endpoint, request) as response:
            body = await response.read(PROBE_BYTES)
    except EngineRefused as error:
        raise _no_docker(endpoint, f"it answers HTTP {error.status}") from error
    try:
        answer = json.loads(body)
        newest, oldest = _version(answer["ApiVersion"]), _version(answer.get("MinAPIVersion", "1.12"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _no_docker(endpoint, "its answer is not Docker's") from None
    if newest < API:
        raise EngineUnreachable(
            f"The Docker engine at {endpoint} is too old: it speaks API {newest[0]}.{newest[1]}, "
            f"{API[0]}.{API[1]} is needed (Docker Engine 20.10).",
            hint="Upgrade it: https://docs.docker.com/engine/install/ has the command for your system.",
        )
    major, minor = max(API, oldest)
    return f"/v{major}.{minor}"


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _no_docker(endpoint: Endpoint, why: str) -> EngineUnreachable:
    return EngineUnreachable(
        f"Something answers at {endpoint}, but it is no Docker engine: {why}.",
        hint="Correct the address: `docker context ls` shows the engines that are known; see DOCKER_HOST.",
    )


def _client(endpoint: Endpoint, version: str) -> docker.APIClient:
    options: dict[str, Any] = {}
    base_url = endpoint.url
    if endpoint.tls is not None:
        files = endpoint.tls
        pair = (str(files.cert), str(files.key)) if files.cert and files.key else None
        ca = str(files.ca) if files.ca else None
        options["tls"] = docker.tls.TLSConfig(client_cert=pair, ca_cert=ca, verify=files.verify)
        base_url = base_url.replace("tcp://", "https://", 1)
    try:
        client = docker.APIClient(
            base_url,
            version=version,
            timeout=int(ANSWER_SECONDS),
            **options,
        )
    except FOREIGN as error:
        raise translated(error, doing="be opened", endpoint=endpoint) from error
    client.trust_env = False  # no proxy and no .netrc of this machine between us and the engine
    return client
