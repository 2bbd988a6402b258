"""Every foreign exception (SDK, requests, urllib3, sockets, anyio) becomes one of ours here, nowhere else."""

from __future__ import annotations

import errno
import json
import socket
import ssl
from typing import TYPE_CHECKING

import anyio
import docker.errors
import requests
import urllib3.exceptions

from scorehost.errors import Conflict, EngineError, EngineRefused, EngineTimeout, EngineUnreachable, NotFound
from scorehost.foreign import causes, error_numbers
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from scorehost.engine.endpoint import Endpoint

WORDS = 2_000  # characters of the engine's own words that a message keeps
MISSING = 404
TAKEN = 409

# What may come out of a plain call or a stream. Anything else is a defect and keeps its own traceback.
FOREIGN = (
    docker.errors.DockerException,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,  # with TimeoutError, ConnectionError, ssl.SSLError, socket.gaierror
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
)

START_DOCKER = "Start it: `sudo systemctl start docker` (or start Docker Desktop), then try `docker version`."


def translated(error: BaseException, *, doing: str, endpoint: Endpoint) -> EngineError:
    """Our exception for a foreign one that came while `doing` ("start the container x")."""
    if isinstance(error, EngineError):
        return error
    if isinstance(error, docker.errors.APIError):
        return refused(
            error.response.status_code if error.response is not None else 0, error.explanation, doing
        )
    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return refused(error.response.status_code, words_of(error.response.content), doing)
    found = causes(error)
    if any(isinstance(cause, _TIMEOUTS) for cause in found):
        return EngineTimeout(
            f"The Docker engine at {endpoint} did not answer in time when asked to {doing}.",
            hint="See whether the machine is overloaded; `docker ps` should answer at once.",
        )
    return unreachable(found, doing=doing, endpoint=endpoint)


def refused(status: int, words: str | None, doing: str) -> EngineRefused:
    """NotFound for 404, Conflict for 409, EngineRefused for the rest, with the engine's own words.

    The controller's secrets are masked in them: an engine may repeat what it was sent or configured with.
    """
    said = own_masker().text(" ".join((words or "no reason given").split()))[:WORDS]
    message = f"The Docker engine refused to {doing}: {said} (HTTP {status})"
    kind = {MISSING: NotFound, TAKEN: Conflict}.get(status, EngineRefused)
    return kind(message, status=status)


def words_of(body: bytes) -> str:
    """What an engine's error body says: its `message`, else the body as text."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, str) else text


def unreachable(found: list[BaseException], *, doing: str, endpoint: Endpoint) -> EngineUnreachable:
    """No answer: which of the known reasons, and the command that mends it."""
    numbers = error_numbers(found)
    reasons = (
        (
            endpoint.kind == "unix" and errno.ENOENT in numbers,
            f"There is no Docker socket at {endpoint}.",
            f"{START_DOCKER} If Docker listens elsewhere, set DOCKER_HOST: `docker context ls` shows it.",
        ),
        (
            numbers & {errno.EACCES, errno.EPERM},
            f"No permission to use the Docker socket at {endpoint}.",
            "Join its group: `sudo usermod -aG docker $USER`, then log in again (or `newgrp docker`).",
        ),
        (
            errno.ECONNREFUSED in numbers,
            f"Nothing listens at {endpoint}: no Docker engine runs there.",
            START_DOCKER,
        ),
        (
            any(isinstance(cause, socket.gaierror) for cause in found),
            f"The host name of {endpoint} is unknown.",
            "Correct DOCKER_HOST; `unset DOCKER_HOST` takes the default socket.",
        ),
        (
            any(isinstance(cause, (ssl.SSLError, requests.exceptions.SSLError)) for cause in found),
            f"TLS with {endpoint} failed.",
            "Set DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH to the folder of its PEM files; or unset both.",
        ),
        (
            numbers & {errno.EHOSTUNREACH, errno.ENETUNREACH},
            f"There is no way to {endpoint}.",
            "See that the machine is up and reachable: `ping` it.",
        ),
        (
            True,
            f"The connection to the Docker engine at {endpoint} was lost when asked to {doing}.",
            "See that it still runs: `docker version`. Its own log says why it ended.",
        ),
    )
    message, hint = next((message, hint) for applies, message, hint in reasons if applies)
    return EngineUnreachable(message, hint=hint)


_TIMEOUTS = (
    TimeoutError,
    requests.exceptions.Timeout,
    urllib3.exceptions.TimeoutError,
)
