"""One try of a call, whatever made it: its outcome, and what the record keeps of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Protocol

from scorehost.adapters.execs import ExecCall
from scorehost.adapters.registry import RequestIds
from scorehost.adapters.replies import claimed_twice, read_content, read_provenance
from scorehost.adapters.requests import AdapterRequest
from scorehost.errors import CallFailed
from scorehost.model.call import ExecNote, Fault, Folders, Provenance, Reply, Try

_NOTHING = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try ended: `value` is the reply's object, not yet checked; else `fault` is set.

    `request` is what was sent; `reply_data` and `stderr_data` are what is kept, masked and capped.
    """

    request: bytes
    value: dict[str, Any] | None = None
    fault: Fault | None = None
    reply_data: bytes = b""
    reply_bytes: int = 0
    reply_sha256: str = _NOTHING
    reply_masked: bool = False
    stderr_data: bytes = b""
    stderr_bytes: int = 0
    exit_code: int | None = None
    http_status: int | None = None
    retry_after_seconds: float | None = None
    again: bool = False  # the endpoint asks to be asked again
    folders: Folders | None = None
    execs: tuple[ExecNote, ...] = field(default=())


class Executor(Protocol):
    """Something that plays a role: makes one try of a call."""

    async def attempt(self, request: AdapterRequest, exec_call: ExecCall | None, seconds: float) -> Outcome:
        """One try, at most `seconds` long. What `exec_call` raises comes out; all else is its fault."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A try whose reply was checked: exactly one of `reply` and `fault` is set."""

    outcome: Outcome
    provenance: Provenance | None
    reply: Reply | None
    fault: Fault | None


def settle(outcome: Outcome, request: AdapterRequest, ids: RequestIds) -> Settled:
    """Checks a try's reply. Its id is claimed whatever else is wrong with it."""
    value = outcome.value
    if value is None:
        fault = outcome.fault or Fault.of("adapter_malformed", "the adapter gave no reply")
        return Settled(outcome, None, None, fault)
    twice = claimed_twice(value, ids)
    provenance = None
    try:
        provenance = read_provenance(value, request.mode)
    except CallFailed as wrong:
        fault = wrong.fault
    if twice:
        text = "the reply's `request_id` came before in this job, so it is a reply that was played again"
        return Settled(outcome, provenance, None, Fault.of("adapter_duplicate_id", text))
    if value.get("cache_hit") is True:
        text = "the adapter says `cache_hit: true`; a reply from a cache is no observation"
        return Settled(outcome, provenance, None, Fault.of("adapter_cache_hit", text))
    if provenance is None:
        return Settled(outcome, None, None, fault)
    try:
        return Settled(outcome, provenance, read_content(value, request, provenance), None)
    except CallFailed as wrong:
        return Settled(outcome, provenance, None, wrong.fault)


def note(settled: Settled, *, number: int, started_at: str, waited: float, seconds: float) -> Try:
    """The try as the record keeps it; seconds are rounded to milliseconds."""
    outcome = settled.outcome
    return Try(
        number=number,
        started_at=started_at,
        waited_seconds=round(waited, 3),
        duration_seconds=round(seconds, 3),
        exit_code=outcome.exit_code,
        http_status=outcome.http_status,
        retry_after_seconds=outcome.retry_after_seconds,
        reply_bytes=outcome.reply_bytes,
        reply_sha256=outcome.reply_sha256,
        reply_masked=outcome.reply_masked,
        stderr_bytes=outcome.stderr_bytes,
        provenance=settled.provenance,
        folders=outcome.folders,
        execs=outcome.execs,
        fault=settled.fault,
    )
