"""What an adapter answered, read strictly: provenance first, then the fields of its mode."""

from __future__ import annotations

import re
from typing import Any

from scorehost.adapters.faults import failed
from scorehost.adapters.registry import RequestIds
from scorehost.adapters.requests import (
    AdapterRequest,
    BehaviorRequest,
    JudgeRequest,
    SessionRequest,
    TriggerRequest,
)
from scorehost.model import json
from scorehost.model.call import Mode, Provenance, Reply, TokenUsage

REPLY_BYTES = 4 * 1024 * 1024
# As OpenAI, Anthropic and Google call them; what an adapter hands on need not be an endpoint's of the first.
TRUNCATED = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"})
REFUSED = frozenset({"content_filter", "refusal", "safety", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST"})
_ID_LENGTH = 512
_LARGEST = 2**53  # counts beyond it are no counts, and other readers of JSON round them
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def parse_reply(data: bytes) -> dict[str, Any]:
    """The one JSON object that `data` is. CallFailed: adapter_malformed, and why."""
    if not data.strip():
        raise failed("adapter_malformed", "the adapter printed nothing; one JSON object is wanted")
    return parse_object(data, "stdout", max_bytes=REPLY_BYTES)


def parse_object(data: bytes, what: str, *, max_bytes: int) -> dict[str, Any]:
    """The one JSON object that `data` is; `what` is how messages call it. CallFailed: adapter_malformed."""
    try:
        value = json.parse(data, max_bytes=max_bytes)
    except json.BadJson as error:
        why = str(error)
        if "Extra data" in why:
            why = "something follows the first JSON value; logs belong on stderr"
        raise failed("adapter_malformed", f"{what} is not one JSON object: {why}") from None
    if not isinstance(value, dict):
        raise failed("adapter_malformed", f"{what} is JSON, but no object")
    if not _whole_text(value):
        raise failed("adapter_malformed", f"{what} holds half of a surrogate pair, which is no text")
    return value


def _whole_text(value: dict[str, Any]) -> bool:
    """Whether every text in it can be written: half of a surrogate pair is JSON to Python, and no text."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str) and not item.isascii() and _SURROGATE.search(item):
            return False
    return True


def claimed_twice(value: dict[str, Any], ids: RequestIds) -> bool:
    """Claims the reply's id, also when the rest of it is bad; True when the job had it before."""
    request_id = value.get("request_id")
    return _told(request_id) and not ids.claim(str(request_id))


def read_provenance(value: dict[str, Any], mode: Mode) -> Provenance:
    """Who made the reply. CallFailed: adapter_provenance, and which field is missing or wrong.

    Counts that are missing are None, but a fault in mode judge. A `cache_hit` of true is not judged here.
    """
    for key in ("request_id", "provider"):
        if not _told(value.get(key)):
            raise failed("adapter_provenance", f"`{key}` must be text, not blank, at most {_ID_LENGTH}")
    if not isinstance(value.get("cache_hit"), bool):
        raise failed("adapter_provenance", "`cache_hit` must be there, and false")
    return Provenance(
        request_id=value["request_id"],
        provider=value["provider"],
        token_usage=_usage(value, mode),
        finish_reason=_optional_text(value, "finish_reason"),
        served_model=_optional_text(value, "served_model"),
    )


def _usage(value: dict[str, Any], mode: Mode) -> TokenUsage:
    given = value.get("token_usage")
    if given is not None and not isinstance(given, dict):
        raise failed("adapter_provenance", "`token_usage` must be an object")
    counts = {key: _count(given or {}, key) for key in ("input_tokens", "output_tokens")}
    missing = [key for key, count in counts.items() if count is None]
    if missing and mode == "judge":
        raise failed("adapter_provenance", f"`token_usage` lacks {' and '.join(missing)}")
    cached = _count(value, "cached_input_tokens")
    if cached is None:
        cached = _count(given or {}, "cached_input_tokens")
    return TokenUsage(**counts, cached_input_tokens=cached)


def _count(given: dict[str, Any], key: str) -> int | None:
    count = given.get(key)
    if count is None:
        return None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < _LARGEST:
        raise failed("adapter_provenance", f"`{key}` must be a whole number, 0 or more")
    return count


def _optional_text(value: dict[str, Any], key: str) -> str | None:
    given = value.get(key)
    if given is not None and not isinstance(given, str):
        raise failed("adapter_provenance", f"`{key}` must be text when it is given")
    return given


def _told(given: Any) -> bool:
    return isinstance(given, str) and bool(given.strip()) and len(given) <= _ID_LENGTH


def read_content(value: dict[str, Any], request: AdapterRequest, provenance: Provenance) -> Reply:
    """The reply to `request`. CallFailed (malformed, truncated, refused) names the field that is wrong."""
    check_finished(provenance.finish_reason)
    if isinstance(request, SessionRequest):
        if not isinstance(value.get("output"), (str, dict)):
            raise failed("adapter_malformed", "`output` must be text or an object")
        return Reply(provenance=provenance, output=value["output"])
    if isinstance(request, JudgeRequest):
        return _judgement(value, provenance)
    return _with_plugin(value, request, provenance)


def check_finished(reason: object) -> None:
    """CallFailed where a model did not say all that it had to say."""
    if reason in TRUNCATED:
        text = f"the model stopped at its token limit (`finish_reason: {reason}`), so the reply is not whole"
        raise failed("adapter_truncated", text)
    if reason in REFUSED:
        text = f"the provider would not let the model answer (`finish_reason: {reason}`)"
        raise failed("adapter_refused", text)


def _judgement(value: dict[str, Any], provenance: Provenance) -> Reply:
    status, reason = value.get("status"), value.get("reason")
    if status not in ("passed", "failed") or not isinstance(status, str):
        raise failed("adapter_malformed", "`status` must be passed or failed")
    if not isinstance(reason, str) or not reason.strip():
        raise failed("adapter_malformed", "`reason` must be text, and not blank")
    return Reply.model_validate({"provenance": provenance, "status": status, "reason": reason})


def _with_plugin(value: dict[str, Any], request: BehaviorRequest, provenance: Provenance) -> Reply:
    loaded = _loaded(value, request)
    clean = value.get("clean_control")
    if request.condition == "control" and clean is not True:
        raise failed("adapter_malformed", "`clean_control` must be true in control")
    if clean is not None and not isinstance(clean, bool):
        raise failed("adapter_malformed", "`clean_control` must be a boolean or null")
    output = skill = None
    if isinstance(request, TriggerRequest):
        skill = value.get("selected_skill")
        if "selected_skill" not in value or not (skill is None or isinstance(skill, str)):
            raise failed("adapter_malformed", "`selected_skill` must be text or null")
    else:
        output = value.get("output")
        if not isinstance(output, str):
            raise failed("adapter_malformed", "`output` must be text")
    return Reply(
        provenance=provenance,
        output=output,
        selected_skill=skill,
        loaded_plugin_sha256=loaded,
        clean_control=clean,
    )


def _loaded(value: dict[str, Any], request: BehaviorRequest) -> str | None:
    given = value.get("loaded_plugin_sha256")
    if "loaded_plugin_sha256" not in value or not (given is None or isinstance(given, str)):
        raise failed("adapter_malformed", "`loaded_plugin_sha256` must be there: a digest, or null")
    match = _DIGEST.fullmatch(given) if given is not None else None
    loaded = match[1] if match else None
    if request.condition == "control":
        if given is not None:
            text = "`loaded_plugin_sha256` must be null in control: no plugin may be loaded there"
            raise failed("adapter_malformed", text)
    elif loaded is None or loaded != request.archive_sha256:
        text = "`loaded_plugin_sha256` is not the digest of the archive that was given"
        raise failed("adapter_malformed", text)
    return loaded
