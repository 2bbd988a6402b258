"""One call of an agent, as the attempt's record keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from scorehost.model import json
from scorehost.model.frozen import Frozen

Mode = Literal["session", "behavior", "trigger", "judge"]
MODES: tuple[Mode, ...] = ("session", "behavior", "trigger", "judge")
INVALIDATING = ("adapter_duplicate_id", "adapter_cache_hit")


class TokenUsage(Frozen):
    """Tokens of one reply; None: the adapter did not say (which is not 0)."""

    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None = None


class Provenance(Frozen):
    """Who made a reply. `request_id` is unique over the job."""

    request_id: str
    provider: str
    token_usage: TokenUsage
    finish_reason: str | None = None
    served_model: str | None = None


class Reply(Frozen):
    """What an adapter answered, checked and masked; only the fields of its mode are set.

    session: `output` text or object. behavior: `output` text. trigger: `selected_skill`. Both:
    `loaded_plugin_sha256` (64 hex digits) and `clean_control`. judge: `status` and `reason`.
    """

    provenance: Provenance
    output: str | dict[str, Any] | None = None
    selected_skill: str | None = None
    loaded_plugin_sha256: str | None = None
    clean_control: bool | None = None
    status: Literal["passed", "failed"] | None = None
    reason: str | None = None


class Fault(Frozen):
    """Why a call has no reply: a kind of `scorehost.model.failure` and a message without any of the reply.

    `invalidates`: the whole job is invalid (an id that came twice, a reply from a cache).
    """

    kind: str
    message: str
    invalidates: bool = False

    @classmethod
    def of(cls, kind: str, message: str) -> Fault:
        """The fault of that kind."""
        return cls(kind=kind, message=message, invalidates=kind in INVALIDATING)


class ExecNote(Frozen):
    """One exec that an adapter asked for in the host that its session is tied to."""

    at: str
    argv: tuple[str, ...]
    stdin_bytes: int
    exit_code: int | None
    stdout_bytes: int
    stderr_bytes: int
    timed_out: bool
    error: str
    duration_seconds: float


class Folders(Frozen):
    """Digests of an adapter's fresh folders by name, when its process started and after its end.

    `sha256:` over `path NUL kind NUL sha256-of-content LF` of what they hold; `unread` when it is too much.
    """

    before: dict[str, str]
    after: dict[str, str]


class Try(Frozen):
    """One process, or one HTTP request, that was to answer a call. Seconds; `exit_code` as a shell has it.

    `reply_masked`: the kept reply is not the raw one byte for byte, since it held a known secret.
    """

    number: int
    started_at: str
    waited_seconds: float
    duration_seconds: float
    exit_code: int | None
    http_status: int | None
    retry_after_seconds: float | None
    reply_bytes: int
    reply_sha256: str
    reply_masked: bool
    stderr_bytes: int
    provenance: Provenance | None
    folders: Folders | None
    execs: tuple[ExecNote, ...]
    fault: Fault | None


class CallRecord(Frozen):
    """call.json: one call of a role. Exactly one of `reply` and `fault` is set.

    `request_sha256` is of the bytes of request.json, which are those that the adapter got unless
    `request_masked` (a known secret stood in them).
    """

    format: Literal["scorehost.call/1"] = "scorehost.call/1"
    role: str
    mode: Mode
    executor: Literal["command", "openai"] | None
    model: str
    parameters: dict[str, Any]
    environment: str | None
    session_id: str | None
    turn: int | None
    prompt_sha256: str
    request_sha256: str
    request_masked: bool
    started_at: str
    duration_seconds: float
    tries: tuple[Try, ...]
    reply: Reply | None
    fault: Fault | None


def object_text(output: Any) -> bool:
    """Whether a session's output can be read as the object that most evaluators ask for."""
    if not isinstance(output, str):
        return True
    data = output.encode("utf-8", "surrogatepass")
    try:
        return isinstance(json.parse(data, max_bytes=len(data)), dict)
    except json.BadJson:
        return False


def readable(reply: Reply | None) -> bool:
    """Whether a reply holds what its mode is asked for, as far as that can be told."""
    return reply is None or reply.output is None or object_text(reply.output)


class RoleUsage(Frozen):
    """What the calls of a role used. `missing_counts`: replies without their tokens. `unknown`: calls
    that ended without a word of it (no reply, or cut off), which is not 0.
    """

    calls: int = 0
    tries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    missing_counts: int = 0
    unknown: int = 0
    seconds: float = 0.0


def usage_by_role(records: Iterable[CallRecord]) -> dict[str, RoleUsage]:
    """Sums by role, in order of name. Tokens of tries that failed count too: they were used."""
    found: dict[str, RoleUsage] = {}
    for record in records:
        found[record.role] = _plus(found.get(record.role, RoleUsage()), record)
    return dict(sorted(found.items()))


def _plus(usage: RoleUsage, record: CallRecord) -> RoleUsage:
    told = [each.provenance.token_usage for each in record.tries if each.provenance is not None]
    missing = [one for one in told if one.input_tokens is None or one.output_tokens is None]
    return RoleUsage(
        calls=usage.calls + 1,
        tries=usage.tries + len(record.tries),
        input_tokens=usage.input_tokens + sum(one.input_tokens or 0 for one in told),
        output_tokens=usage.output_tokens + sum(one.output_tokens or 0 for one in told),
        cached_input_tokens=usage.cached_input_tokens + sum(one.cached_input_tokens or 0 for one in told),
        missing_counts=usage.missing_counts + len(missing),
        unknown=usage.unknown + (not told),
        seconds=usage.seconds + record.duration_seconds,
    )
