"""Whether the files of a job itself are those that its events tell of: what is gone, cut or another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.runs.reader import (
    ATTEMPTS,
    JOB_FILE,
    MANIFEST_BYTES,
    RECORD_BYTES,
    SUMMARY_FILE,
    BadFile,
    Reader,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scorehost.runs.journal import History

EVENTS = "events.jsonl"


def file_faults(reader: Reader, history: History, attempts: Sequence[str]) -> tuple[str, ...]:
    """A sentence for each fault, of a job that nobody is at. `attempts` are those whose results are sound."""
    record, summary = (_digest(reader, name) for name in (JOB_FILE, SUMMARY_FILE))
    if not history.lines:
        if summary is None and not attempts:  # killed before its first event
            return ()
        state = "is empty" if reader.there(EVENTS) else "is gone"
        return (f"{EVENTS} {state}, so nothing shows that attempts and figures are those of this job",)
    found = list(_lines(history))
    told = history.told
    if told.record and record != told.record:
        found.append(f"{JOB_FILE} is not the file that {EVENTS} tells of")
    found += _end(history, summary)
    if summary is not None:
        untold = [name for name in attempts if name not in history.results]
        found += _some(untold, f"no line in {EVENTS}")
    other = [name for name in attempts if _other_manifest(reader, history, name)]
    return (*found, *_some(other, f"no manifest.json, or one that {EVENTS} does not tell of"))


def _lines(history: History) -> Iterator[str]:
    if history.torn:
        yield f"{EVENTS} ends in half a line ({len(history.torn)} bytes)"
    if history.broken is not None:
        yield f"line {history.broken} of {EVENTS} does not follow the line before it"


def _end(history: History, summary: str | None) -> Iterator[str]:
    """Of summary.json, whose hash is `summary`; None when it is not there."""
    told = history.told
    if summary is None:
        if told.summary:
            yield f"{SUMMARY_FILE} is gone, though {EVENTS} says that the job ended"
    elif not told.summary:
        yield f"{EVENTS} does not tell of the job's end, which {SUMMARY_FILE} sums up"
    elif summary != told.summary:
        yield f"{SUMMARY_FILE} is not the file that {EVENTS} tells of"
    elif told.open:
        yield f"the job went on after {SUMMARY_FILE} was written, and that was broken off"


def _some(names: Sequence[str], what: str) -> list[str]:
    if not names:
        return []
    have = "1 attempt has" if len(names) == 1 else f"{len(names)} attempts have"
    return [f"{have} {what}, such as {names[0]}"]


def _other_manifest(reader: Reader, history: History, name: str) -> bool:
    told = history.manifests.get(name)
    return told is not None and _digest(reader, f"{ATTEMPTS}/{name}/manifest.json", MANIFEST_BYTES) != told


def _digest(reader: Reader, path: str, most: int = RECORD_BYTES) -> str | None:
    try:
        return reader.digest(path, most)
    except BadFile:  # who reads it for what it says tells what is wrong
        return ""
