"""`executor: openai`: one try of a call as one HTTP request to an OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from scorehost.adapters.chat import body_parameters, messages_for, reply_value
from scorehost.adapters.execs import ExecCall
from scorehost.adapters.faults import AdapterFault
from scorehost.adapters.replies import REPLY_BYTES, parse_reply
from scorehost.adapters.requests import AdapterRequest
from scorehost.adapters.tries import Outcome
from scorehost.errors import UsageError
from scorehost.model import json
from scorehost.model.masking import Masker
from scorehost.spec.roles import Role

if TYPE_CHECKING:
    import openai

TRIES = 3  # of a request that ends in 429 or 5xx
_BUSY, _BROKEN = 429, 500
_REDIRECT = 300


class _Refused(Exception):
    """The endpoint answered with a status that is no success; raised while the answer comes in."""

    def __init__(self, status: int, retry_after: float | None, body: bytes) -> None:
        super().__init__(status)
        self.status, self.retry_after, self.body = status, retry_after, body


class EndpointExecutor:
    """Plays a role by an endpoint. It cannot work in a host: `exec_call` is not used."""

    def __init__(self, role: Role, client: openai.AsyncOpenAI, masker: Masker) -> None:
        self._role, self._client, self._masker = role, client, masker
        self._provider = urlsplit(role.base_url or "").netloc.rpartition("@")[2]

    async def attempt(
        self,
        request: AdapterRequest,
        exec_call: ExecCall | None,  # noqa: ARG002 - every executor is asked in one way
        seconds: float,
    ) -> Outcome:
        """One request, at most `seconds` long; every failure is the outcome's fault."""
        asked = {
            "model": self._role.model,
            "messages": messages_for(request),
            "stream": False,
            **body_parameters(self._role.parameters),
        }
        sent = json.canonical(asked) + b"\n"
        status, cached, body = None, False, bytearray()
        refused: _Refused | None = None
        fault: AdapterFault | None = None
        with anyio.move_on_after(seconds) as deadline:
            try:
                async with self._opened(asked) as response:
                    status, cached = response.http_response.status_code, _from_cache(response.headers)
                    async for piece in response.iter_bytes():
                        body += piece
                        if len(body) > REPLY_BYTES:
                            text = f"the endpoint sent more than {REPLY_BYTES} bytes"
                            raise AdapterFault("adapter_overflow", text)  # noqa: TRY301 - ends the reading
            except AdapterFault as wrong:
                fault = wrong
            except Exception as error:  # noqa: BLE001 - the HTTP library is the openai package's own choice
                refused, fault = _explained(error)
        if deadline.cancelled_caught:
            text = f"the endpoint did not answer within {self._role.timeout_seconds:g} s (timeout_seconds)"
            fault = AdapterFault("adapter_timeout", text)
        if refused is not None:
            status, body = refused.status, bytearray(refused.body)
        value = None
        if fault is None:
            try:
                value = self._masker.tree(
                    reply_value(parse_reply(bytes(body)), request, self._provider, cached=cached)
                )
            except AdapterFault as wrong:
                fault = wrong
        data = bytes(body)
        kept = self._masker.data(data)
        return Outcome(
            request=sent,
            value=value,
            fault=fault,
            reply_data=kept,
            reply_bytes=len(data),
            reply_sha256=hashlib.sha256(data).hexdigest(),
            reply_masked=kept != data,
            http_status=status,
            retry_after_seconds=refused.retry_after if refused else None,
            again=refused is not None and (refused.status == _BUSY or refused.status >= _BROKEN),
        )

    def _opened(self, asked: dict[str, Any]) -> Any:
        known = {name: asked[name] for name in ("model", "messages", "stream")}
        rest = {name: value for name, value in asked.items() if name not in known}
        return self._client.chat.completions.with_streaming_response.create(**known, extra_body=rest)


def _explained(error: Exception) -> tuple[_Refused | None, AdapterFault]:
    """What the openai package's error means; its words may hold the request, and are not told."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _Refused):
            text = f"the endpoint answered with HTTP status {cause.status}"
            if _REDIRECT <= cause.status < _REDIRECT + 100:
                text += ", a redirect: write its final address as base_url"
            return cause, AdapterFault("adapter_exit", text)
        cause = cause.__cause__
    root = error.__cause__ or error
    text = f"the connection to the endpoint failed or was cut ({type(root).__name__})"
    return None, AdapterFault("adapter_exit", text)


async def _refuse(response: Any) -> None:
    """Takes an answer that is no success before the package reads it: it would read it without a cap."""
    if response.status_code < _REDIRECT:
        return
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > REPLY_BYTES:
            break
    raise _Refused(response.status_code, _retry_after(response.headers.get("retry-after")), bytes(body))


def _retry_after(text: str | None) -> float | None:
    """Seconds, from a number or a date (RFC 9110, 10.2.3); None for anything else."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _from_cache(headers: Any) -> bool:
    """Whether something on the way says that the answer is a stored one."""
    return any(
        str(headers.get(name, "")).lower().startswith("hit") for name in ("x-cache", "cf-cache-status")
    )


@asynccontextmanager
async def open_endpoint(role: Role, api_key: str | None, masker: Masker) -> AsyncIterator[EndpointExecutor]:
    """A client for the role's endpoint. UsageError when the openai package is not installed."""
    try:
        import openai  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        hint = "Install it: pip install 'scorehost[openai]'"
        raise UsageError(
            "`executor: openai` needs the package openai, which is not installed", hint=hint
        ) from None
    client = openai.AsyncOpenAI(
        base_url=role.base_url,
        api_key=api_key or "none",
        max_retries=0,  # tries are ours, so that each is recorded
        timeout=role.timeout_seconds + 1,  # ours comes first
        default_headers={"Accept-Encoding": "identity"},  # what is capped is what comes
        http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [_refuse]}),
    )
    client.organization = client.project = None  # not from this process's environment
    try:
        yield EndpointExecutor(role, client, masker)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await client.close()
