"""`executor: openai`: one try of a call as one HTTP request to an OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING

import anyio

from scorehost.adapters.chat import body_parameters, messages_for, reply_value
from scorehost.adapters.execs import ExecCall
from scorehost.adapters.faults import failed
from scorehost.adapters.replies import REPLY_BYTES, parse_object
from scorehost.adapters.requests import AdapterRequest
from scorehost.adapters.tries import Outcome
from scorehost.aio.retry import Retry
from scorehost.aio.threads import in_thread
from scorehost.errors import CallFailed
from scorehost.model import json
from scorehost.model.call import Fault
from scorehost.model.masking import Masker
from scorehost.spec.roles import Role

if TYPE_CHECKING:
    from scorehost.adapters.http_client import Answer, HttpClient

# Of a request that ends in 429 or 5xx. Judges that were turned away together do not come back together.
ASKED_AGAIN = Retry(3, pause=0.5, growth=2, jitter=0.25)
PATH = "chat/completions"
_REDIRECT, _REFUSED = 300, 400
# Statuses that say nothing of the request itself: keys, accounts, addresses, methods, proxies, waits, load.
_NOT_THE_REQUEST = frozenset({401, 402, 403, 404, 405, 407, 408, 409, 421, 425, 426, 429})
_BUSY, _BROKEN = 429, 500
_LONGEST = 1e9  # seconds of a Retry-After; nobody waits so long


class EndpointExecutor:
    """Plays a role by an endpoint. It cannot work in a host: `exec_call` is not used."""

    def __init__(self, role: Role, client: HttpClient, masker: Masker) -> None:
        self._role, self._client, self._masker = role, client, masker

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
        answer: Answer | None = None
        fault: Fault | None = None
        with anyio.move_on_after(seconds) as deadline:
            try:
                async with self._client.post(PATH, sent) as answer:
                    await answer.read()
            except CallFailed as wrong:
                fault = wrong.fault
        if deadline.cancelled_caught:
            text = f"the endpoint did not answer within {self._role.timeout_seconds:g} s (timeout_seconds)"
            fault = Fault.of("adapter_timeout", text)
        elif answer is not None and answer.status >= _REDIRECT:
            fault = _refused(answer.status)  # which tells more than what is wrong with its body
        value = None
        if fault is None and answer is not None:
            try:
                read = _object(bytes(answer.body))
                cached = _from_cache(answer.headers)
                value = self._masker.tree(reply_value(read, request, self._client.at, cached=cached))
            except CallFailed as wrong:
                fault = wrong.fault
        data = b"" if answer is None else bytes(answer.body)
        kept = self._masker.data(data)
        status = None if answer is None else answer.status
        return Outcome(
            request=sent,
            value=value,
            fault=fault,
            reply_data=kept,
            reply_bytes=len(data),
            reply_sha256=hashlib.sha256(data).hexdigest(),
            reply_masked=kept != data,
            http_status=status,
            retry_after_seconds=None if answer is None else _retry_after(answer),
            again=status is not None and (status == _BUSY or status >= _BROKEN),
        )


def _refused(status: int) -> Fault:
    text = f"the endpoint answered with HTTP status {status}"
    if status < _REFUSED:
        text += ", a redirect: write its final address as base_url"
    elif status < _BROKEN and status not in _NOT_THE_REQUEST:
        return Fault.of("adapter_refused", f"{text}: it refuses this very request (too long, say)")
    return Fault.of("adapter_exit", text)


def _object(data: bytes) -> dict[str, object]:
    if not data.strip():
        raise failed("adapter_malformed", "the endpoint's answer is empty; one JSON object is wanted")
    return parse_object(data, "the endpoint's answer", max_bytes=REPLY_BYTES)


def _retry_after(answer: Answer) -> float | None:
    """Seconds, from a number or a date (RFC 9110, 10.2.3); None for anything else, and for a success."""
    text = answer.headers.get("retry-after", "").strip()
    if answer.status < _REDIRECT or not text.isascii():
        return None
    if text.isdigit():
        return min(float(text), _LONGEST)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), _LONGEST)


def _from_cache(headers: Mapping[str, str]) -> bool:
    """Whether something on the way says that the answer is a stored one."""
    return any(headers.get(name, "").lower().startswith("hit") for name in ("x-cache", "cf-cache-status"))


@asynccontextmanager
async def open_endpoint(role: Role, api_key: str | None, masker: Masker) -> AsyncIterator[EndpointExecutor]:
    """A client for the role's endpoint. UsageError as of `open_http`."""
    # Slow to load, and most jobs need no endpoint.
    http = await in_thread(lambda: import_module("scorehost.adapters.http_client"), anyio.CapacityLimiter(1))
    limits = http.HttpLimits(body_bytes=REPLY_BYTES)
    async with http.open_http(
        role.base_url or "", key=api_key, limits=limits, environment_proxies=True
    ) as client:
        yield EndpointExecutor(role, client, masker)
