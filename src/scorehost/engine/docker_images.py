"""Pull and build: long streams of progress, with the user's own registry credentials."""

from __future__ import annotations

import base64
import functools
import os
import re
from contextlib import aclosing
from json import dumps, loads
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import anyio
import docker
import docker.auth
import docker.errors
import docker.utils

from scorehost.aio.threads import in_thread
from scorehost.engine.bodies import body_of
from scorehost.engine.docker_events import json_lines
from scorehost.engine.wire import Request, exchange
from scorehost.errors import EngineError, EngineRefused, EngineTimeout
from scorehost.files.atomic import disk_errors
from scorehost.model.masking import Masker, docker_config_secrets
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scorehost.engine.endpoint import Endpoint

# 128 + SIGKILL, in the words of the classic builder and of BuildKit.
KILLED = re.compile(r"(?:non-zero code|exit code|exit status): 137\b|exit status 137\b")
KILLED_WORDS = "137: it was killed, perhaps since the engine's machine ran out of memory"
LAST_LINES = 15
LINE_CHARACTERS = 500
RATE_WORDS = ("toomanyrequests", "rate limit", "too many requests")
LOGIN_WORDS = ("unauthorized", "authentication required", "denied", "no basic auth credentials", "401")
NETWORK_WORDS = ("no such host", "timeout", "connection refused", "network is unreachable", "tls handshake")


async def pull_image(client: docker.APIClient, endpoint: Endpoint, prefix: str, reference: str) -> None:
    """Pulls `reference` with the credentials that `docker pull` would use."""
    repository, tag = docker.utils.parse_repository_tag(reference)
    header = await _credentials(lambda: _pull_header(client, repository))
    masker = _masker(header)
    doing = f"pull the image {reference}"
    query = urlencode({"fromImage": repository, "tag": tag or "latest"})
    request = Request(doing, "POST", f"{prefix}/images/create?{query}", header, head_seconds=None)
    try:
        async with exchange(endpoint, request) as response, aclosing(json_lines(response, doing)) as rows:
            async for row in rows:
                if "error" in row:
                    raise _not_pulled(reference, masker.text(str(row["error"])), 0)
    except EngineRefused as error:
        if error.hint:
            raise
        words = error.message.removeprefix(f"The Docker engine refused to {doing}: ")
        raise _not_pulled(reference, masker.text(words), error.status) from error


def _not_pulled(reference: str, words: str, status: int) -> EngineRefused:
    message = f"The image {reference} cannot be pulled: {words}"
    return EngineRefused(message, status=status, hint=pull_hint(words, reference))


def pull_hint(words: str, reference: str) -> str:
    """What to do about a registry's refusal, from its own words."""
    lower = words.lower()
    if any(word in lower for word in RATE_WORDS):
        return "The registry limits how often one may pull: `docker login` raises that, or try again later."
    if any(word in lower for word in LOGIN_WORDS):
        registry = _registry(reference)
        return f"See that the name is right; a private image needs `docker login{registry}` first."
    if any(word in lower for word in NETWORK_WORDS):
        return "The engine does not reach the registry: see its network and proxy, or `docker load -i FILE`."
    return f"Try it by hand: `docker pull {reference}`."


def _registry(reference: str) -> str:
    first, slash, _ = reference.partition("/")
    return f" {first}" if slash and ("." in first or ":" in first) else ""


async def build_image(
    client: docker.APIClient,
    endpoint: Endpoint,
    prefix: str,
    context: Path,
    *,
    dockerfile: str,
    tag: str,
    labels: Mapping[str, str],
    log: Path,
    timeout: float,  # noqa: ASYNC109 - the same limit as the door's
) -> None:
    """Builds the tar file `context`; the log (0600) grows as the engine tells."""
    query = urlencode(
        {
            "dockerfile": dockerfile,
            "t": tag,
            "labels": dumps(dict(labels)),
            "rm": "1",
            "forcerm": "1",
            "networkmode": "default",
        }
    )
    doing = f"build the image {tag}"
    header = await _credentials(lambda: _build_header(client))
    body, length = body_of(context)
    request = Request(
        doing,
        "POST",
        f"{prefix}/build?{query}",
        {"Content-Type": "application/x-tar", **header},
        body=body,
        length=length,
        head_seconds=None,
    )
    try:
        with anyio.fail_after(timeout):
            disk = anyio.CapacityLimiter(1)
            written = await in_thread(lambda: _Log(log, _masker(header)), disk)
            await _follow_build(endpoint, request, written, disk)
    except TimeoutError as error:
        raise EngineTimeout(
            f"The build of {tag} did not end within {timeout:g} s; its output so far is in {log}.",
            hint="Raise limits.build_seconds, or find what hangs in the recipe.",
        ) from error


async def _follow_build(
    endpoint: Endpoint, request: Request, written: _Log, disk: anyio.CapacityLimiter
) -> None:
    try:
        async with (
            exchange(endpoint, request) as response,
            aclosing(json_lines(response, request.doing)) as rows,
        ):
            async for row in rows:
                text = _told(row)
                await in_thread(functools.partial(written.add, text), disk)
                if "error" in row:
                    raise await in_thread(functools.partial(_failed_build, str(row["error"]), written), disk)
    except EngineRefused as error:
        if error.status == 0:
            raise
        refused = error.message
        await in_thread(lambda: written.add(refused + "\n"), disk)
        words = error.message.removeprefix(f"The Docker engine refused to {request.doing}: ")
        raise EngineRefused(written.masker.text(words), status=0) from error
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(written.close, disk)


def _told(row: Any) -> str:
    if "stream" in row:
        return str(row["stream"])
    if "error" in row:
        return f"{row['error']}\n"
    if "status" in row and "progressDetail" not in row:
        return f"{row['status']}\n"
    return ""


def _failed_build(error: str, log: _Log) -> EngineRefused:
    # The cause first: where there is room for one line only, the rest is cut.
    cause = " ".join(log.masker.text(error).split())[:LINE_CHARACTERS]
    if KILLED.search(cause):
        cause += f" ({KILLED_WORDS})"
    lines = "\n".join(f"    {line}" for line in log.last_lines())
    return EngineRefused(f"{cause}\nThe last lines of the build:\n{lines}", status=0)


class _Log:
    """The build's log file, and the end of it for the message; what is secret is masked in both."""

    def __init__(self, path: Path, masker: Masker) -> None:
        self.masker = masker
        self._path = path
        self._stream = masker.stream()
        self._file = os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"
        )
        self._end = b""

    def add(self, text: str) -> None:
        self._keep(self._stream.feed(text.encode("utf-8", "backslashreplace")))

    def _keep(self, told: bytes) -> None:
        with disk_errors(self._path.parent, len(told)):
            self._file.write(told)
            self._file.flush()  # somebody may be watching it
        self._end = (self._end + told)[-LAST_LINES * LINE_CHARACTERS :]

    def last_lines(self) -> list[str]:
        """The end of what was added; nothing is added afterwards."""
        self._keep(self._stream.end())
        text = self._end.decode("utf-8", "replace")
        return [line.rstrip()[:LINE_CHARACTERS] for line in text.splitlines() if line.strip()][-LAST_LINES:]

    def close(self) -> None:
        self._keep(self._stream.end())
        self._file.close()


def _masker(header: Mapping[str, str]) -> Masker:
    """The controller's own secrets, and the credentials of this call: those of a store stand in no file."""
    known = own_masker()
    for value in header.values():
        known = known.also({value, *docker_config_secrets(loads(base64.urlsafe_b64decode(value)))})
    return known


async def _credentials(read: Any) -> dict[str, str]:
    """Headers from the user's docker configuration; a credential store is a program, so it gets a thread."""
    outcome = await in_thread(read, anyio.CapacityLimiter(1))
    if isinstance(outcome, EngineError):
        raise outcome
    return dict(outcome)


def _pull_header(client: docker.APIClient, repository: str) -> dict[str, str] | EngineError:
    try:
        registry, _ = docker.auth.resolve_repository_name(repository)
        header = docker.auth.get_config_header(client, registry)
    except docker.errors.DockerException as error:
        return _bad_store(error)
    return {"X-Registry-Auth": header.decode() if isinstance(header, bytes) else header} if header else {}


def _build_header(client: docker.APIClient) -> dict[str, str] | EngineError:
    try:
        known = docker.auth.load_config(credstore_env=client.credstore_env).get_all_credentials()  # type: ignore[no-untyped-call]
    except docker.errors.DockerException as error:
        return _bad_store(error)
    header = docker.auth.encode_header(known) if known else None
    return {"X-Registry-Config": header.decode() if isinstance(header, bytes) else header} if header else {}


def _bad_store(error: Exception) -> EngineError:
    return EngineRefused(
        f"The credentials of the docker configuration cannot be read ({type(error).__name__}).",
        status=0,
        hint="See `credsStore` and `credHelpers` in ~/.docker/config.json; `docker login` writes them anew.",
    )
