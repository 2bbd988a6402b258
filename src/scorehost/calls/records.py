"""What a record keeps of a call: its files, and its lines in observation.jsonl."""

from __future__ import annotations

import hashlib
from typing import Any

from scorehost.adapters.calls import Call
from scorehost.model import json
from scorehost.model.call import ExecNote, TokenUsage, Try

PROMPT_FILE = "request.json"  # holds the prompt: never shown without --show-prompts


def call_files(call: Call, folder: str) -> dict[str, bytes]:
    """The files of a call by path, below `folder` (such as `evaluation/calls/1`):

    `call.json` (a `CallRecord`), `request.json` (the bytes that the adapter got), and of each try
    `tries/<n>/reply` (stdout, or the body of the answer) and `tries/<n>/stderr.log`; empty ones are left out.
    """
    files = {
        f"{folder}/call.json": json.dump(call.record.model_dump(mode="json")),
        f"{folder}/{PROMPT_FILE}": call.request,
    }
    for number, outcome in enumerate(call.outcomes, start=1):
        files[f"{folder}/tries/{number}/reply"] = outcome.reply_data
        files[f"{folder}/tries/{number}/stderr.log"] = outcome.stderr_data
    return {path: data for path, data in files.items() if data}


def disagreements(record: dict[str, bytes]) -> list[str]:
    """Where the files of one call contradict each other; empty when they agree.

    `record`: what `call_files` gives, by path below the call's folder. Raises `BadJson`.
    """
    content = json.parse(record["call.json"], max_bytes=len(record["call.json"]))
    found = []
    if not content["request_masked"]:
        digest = "sha256:" + hashlib.sha256(record.get(PROMPT_FILE, b"")).hexdigest()
        if digest != content["request_sha256"]:
            found.append(f"{PROMPT_FILE} is not the request whose sha256 call.json has")
    for each in content["tries"]:
        path = f"tries/{each['number']}/reply"
        data = record.get(path, b"")
        whole = not each["reply_masked"] and len(data) == each["reply_bytes"]
        cut = each["reply_masked"] or b" bytes are left out here]\n" in data
        if (whole and hashlib.sha256(data).hexdigest() != each["reply_sha256"]) or not (whole or cut):
            found.append(f"{path} is not the reply whose size and sha256 call.json has")
    return found


def observation_lines(call: Call) -> list[dict[str, Any]]:
    """Lines of observation.jsonl, in order: one per exec of the call, then one for its turn.

    An exec's `output` holds `{exec: {argv, exit_code, …}}`, and it has no `request_id` and no tokens.
    """
    record = call.record
    last = record.tries[-1]
    lines = [_exec_line(call, note) for each in record.tries for note in each.execs]
    provenance = last.provenance
    lines.append(
        _line(
            call,
            at=record.started_at,
            output=_output(call),
            request_id=provenance.request_id if provenance else None,
            provider=provenance.provider if provenance else None,
            token_usage=_usage(last),
            seconds=record.duration_seconds,
            error=f"{record.fault.kind}: {record.fault.message}" if record.fault else None,
        )
    )
    return lines


def _exec_line(call: Call, note: ExecNote) -> dict[str, Any]:
    told = note.model_dump(mode="json", exclude={"at", "duration_seconds", "error"})
    return _line(
        call,
        at=note.at,
        output={"exec": told},
        request_id=None,
        provider=None,
        token_usage=None,
        seconds=note.duration_seconds,
        error=note.error or None,
    )


def _line(
    call: Call,
    *,
    at: str,
    output: Any,
    request_id: str | None,
    provider: str | None,
    token_usage: dict[str, Any] | None,
    seconds: float,
    error: str | None,
) -> dict[str, Any]:
    record = call.record
    return {
        "at": at,
        "role": record.role,
        "session_id": record.session_id,
        "turn": record.turn,
        "prompt_sha256": record.prompt_sha256,
        "output": output,
        "request_id": request_id,
        "provider": provider,
        "model": record.model,
        "token_usage": token_usage,
        "duration_seconds": seconds,
        "environment": record.environment,
        "error": error,
    }


def _output(call: Call) -> Any:
    reply = call.reply
    if reply is None:
        return None
    if reply.status is not None:
        return {"status": reply.status, "reason": reply.reason}
    if call.record.mode == "trigger":
        return {"selected_skill": reply.selected_skill}
    return reply.output


def _usage(last: Try) -> dict[str, Any] | None:
    usage: TokenUsage | None = last.provenance.token_usage if last.provenance else None
    return usage.model_dump(mode="json") if usage else None
