"""Do an attempt's result, its observations and the records of its calls tell one story?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scorehost.calls import records
from scorehost.model import json
from scorehost.model.call import CallRecord

MAX_BYTES = 64 * 1024 * 1024  # of one file that is read here
PHASES = ("run", "evaluation")


def disagreements(folder: Path) -> list[str]:
    """Where the attempt in `folder` contradicts itself about calls of agents; empty when it does not.

    The manifest tells whether files are those that were written; this tells whether what was written fits
    together. A file that cannot be read or parsed is a disagreement too.
    """
    found: list[str] = []
    calls = 0
    for phase in PHASES:
        kept, faults = _calls(folder / phase / "calls", phase)
        calls += len(kept)
        found += faults
        found += _observations(folder / phase / "observation.jsonl", kept)
    try:
        result = json.parse((folder / "result.json").read_bytes(), max_bytes=MAX_BYTES)
        told = result["agent_invocations"]
    except (OSError, json.BadJson, KeyError, TypeError):
        return [*found, "result.json does not say how many calls there were"]
    if not isinstance(told, int) or told < calls:  # a call that was cut off is counted and has no record
        found.append(f"result.json counts {told} calls, and {calls} are recorded")
    return found


def _calls(folder: Path, phase: str) -> tuple[list[CallRecord], list[str]]:
    kept: list[CallRecord] = []
    found: list[str] = []
    places = list(folder.iterdir()) if folder.is_dir() else []
    for place in sorted(places, key=lambda place: (len(place.name), place.name)):
        shown = f"{phase}/calls/{place.name}"
        files = {
            str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()
        }
        try:
            kept.append(CallRecord.model_validate_json(files["call.json"]))
            found += [f"{shown}: {fault}" for fault in records.disagreements(files)]
        except (KeyError, ValidationError, json.BadJson):
            found.append(f"{shown}/call.json is missing or is no record of a call")
    return kept, found


def _observations(path: Path, kept: list[CallRecord]) -> list[str]:
    """Turns of observation.jsonl against the calls, in order; lines of execs are parts of a turn."""
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
        rows = [json.parse(line, max_bytes=MAX_BYTES) for line in lines]
    except (OSError, json.BadJson):
        return [f"{path.name} cannot be read"]
    turns = [row for row in rows if not _is_exec(row)]
    told = [tuple(row.get(name) for name in _COMPARED) for row in turns]
    if told != [_facts(record) for record in kept]:
        return [f"{path.parent.name}/{path.name} does not tell the calls that are recorded"]
    return []


_COMPARED = ("role", "prompt_sha256", "output", "request_id", "error")


def _is_exec(row: Any) -> bool:
    output = row.get("output")
    return isinstance(output, dict) and set(output) == {"exec"} and row.get("request_id") is None


def _facts(record: CallRecord) -> tuple[Any, ...]:
    provenance = record.tries[-1].provenance if record.tries else None
    output: Any = None
    if record.reply is not None:
        output = record.reply.output
        if record.reply.status is not None:
            output = {"status": record.reply.status, "reason": record.reply.reason}
    return (
        record.role,
        record.prompt_sha256,
        output,
        None if provenance is None else provenance.request_id,
        None if record.fault is None else f"{record.fault.kind}: {record.fault.message}",
    )
