"""Do an attempt's result, its observations and the records of its calls tell one story?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorehost.calls import records
from scorehost.model import json
from scorehost.model.call import CallRecord
from scorehost.runs.reader import CALL_BYTES, OBSERVATION_FILE, BadFile, Reader

PHASES = ("run", "evaluation")


def disagreements(folder: Path) -> list[str]:
    """Where the attempt in `folder` contradicts itself about calls of agents; empty when it does not.

    The manifest tells whether files are those that were written; this tells whether what was written fits
    together. A file that cannot be read or parsed is a disagreement too.
    """
    found: list[str] = []
    calls = 0
    with Reader(folder) as reader:
        for phase in PHASES:
            kept, faults = _calls(reader, f"{phase}/calls")
            calls += len(kept)
            found += faults
            found += _observations(reader, phase, kept)
        try:
            told = reader.result()[0].agent_invocations
        except BadFile:
            return [*found, "result.json does not say how many calls there were"]
    if told < calls:  # a call that was cut off is counted and has no record
        found.append(f"result.json counts {told} calls, and {calls} are recorded")
    return found


def _calls(reader: Reader, folder: str) -> tuple[list[CallRecord], list[str]]:
    kept: list[CallRecord] = []
    found: list[str] = []
    for name, _kind in sorted(reader.names(folder), key=lambda each: (len(each[0]), each[0])):
        place = f"{folder}/{name}"
        try:
            kept.append(reader.call(place))
            files = {
                path.removeprefix(f"{place}/"): reader.data(path, CALL_BYTES)
                for path, _kind in reader.walked(place)
            }
            found += [f"{place}: {fault}" for fault in records.disagreements(files)]
        except (BadFile, json.BadJson):
            found.append(f"{place}/call.json is missing or is no record of a call")
    return kept, found


def _observations(reader: Reader, phase: str, kept: list[CallRecord]) -> list[str]:
    """Turns of observation.jsonl against the calls, in order; lines of execs are parts of a turn."""
    try:
        rows = reader.observations(phase)
    except BadFile:
        return [f"{OBSERVATION_FILE} cannot be read"]
    turns = [row for row in rows if not _is_exec(row)]
    told = [tuple(row.get(name) for name in _COMPARED) for row in turns]
    if told != [_facts(record) for record in kept]:
        return [f"{phase}/{OBSERVATION_FILE} does not tell the calls that are recorded"]
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
