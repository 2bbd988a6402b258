"""The engine's event stream: lines of JSON that come for as long as somebody listens."""

from __future__ import annotations

import json
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from scorehost.engine.door import Event
from scorehost.engine.paths import quoted
from scorehost.engine.wire import Request, Response, exchange
from scorehost.errors import EngineRefused

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from scorehost.engine.endpoint import Endpoint

LINE_BYTES = 4 * 1024 * 1024


async def json_lines(response: Response, doing: str) -> AsyncGenerator[Any, None]:
    """The JSON values of a body that has one a line; EngineRefused (status 0) for anything else."""
    pending = bytearray()
    async with aclosing(response.body()) as body:
        async for data in body:
            pending += data
            *lines, rest = pending.split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                if line.strip():
                    yield _value(line, doing)
            if len(pending) > LINE_BYTES:
                raise EngineRefused(
                    f"The Docker engine sent an endless line when asked to {doing}.", status=0
                )
    if pending.strip():
        yield _value(pending, doing)


def _value(line: bytes | bytearray, doing: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise EngineRefused(
            f"The Docker engine sent a line that is not JSON when asked to {doing}.", status=0
        ) from None


@asynccontextmanager
async def event_stream(
    endpoint: Endpoint, prefix: str, *, since: str, filters: str
) -> AsyncIterator[AsyncIterator[Event]]:
    """Container events from the engine's time `since` on; the connection closes on leaving.

    The engine answers before it listens to itself; `since` makes it repeat what came between.
    """
    doing = "tell its events"
    request = Request(doing, "GET", f"{prefix}/events?since={since}&filters={quoted(filters)}", {})
    async with exchange(endpoint, request) as response, aclosing(_events(response, doing)) as stream:
        yield stream


async def _events(response: Response, doing: str) -> AsyncGenerator[Event, None]:
    async for row in json_lines(response, doing):
        actor = row.get("Actor") or {}
        yield Event(
            container=str(actor.get("ID") or row.get("id", "")),
            action=str(row.get("Action") or row.get("status", "")),
            attributes={str(key): str(value) for key, value in (actor.get("Attributes") or {}).items()},
            at=int(row.get("timeNano") or 0) / 1e9,
        )
