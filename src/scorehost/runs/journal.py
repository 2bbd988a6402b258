"""events.jsonl: one canonical JSON line per thing that happened, each with the hash of the line before.

A line's hash is the sha256 of its bytes without the newline. The first line's `prev` is 64 zeros, and the
hash of the last line is the job's root hash: whoever keeps it can tell any later change of an earlier line.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from scorehost.files.atomic import disk_errors, sync_folder, write_all, write_atomic
from scorehost.model.ids import AttemptKey, utc_now
from scorehost.model.json import canonical
from scorehost.runs.reader import BadFile, Reader
from scorehost.runs.tally import CallTally
from scorehost.runs.warned import WarningTally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE = "events.jsonl"
START = "0" * 64
LINE_BYTES = 16 * 1024 * 1024  # an event holds no contents


def line_hash(line: bytes) -> str:
    """The hex sha256 of a line without its newline."""
    return hashlib.sha256(line).hexdigest()


@dataclass(slots=True)
class ToldFiles:
    """What the events of sittings say: hashes of job.json and of the last summary.json, "" where none does.

    `open`: the last sitting that began has not told its end.
    """

    record: str = ""
    summary: str = ""
    open: bool = False

    def note(self, event: Mapping[str, Any]) -> None:
        """Takes an event of the journal; most say nothing of these files."""
        kind = event.get("kind")
        if kind == "job_started":
            self.record, self.open = str(event.get("job") or ""), True
        elif kind == "job_finished":
            self.summary, self.open = str(event.get("summary") or ""), False


@dataclass(frozen=True, slots=True)
class History:
    """What a journal holds already.

    `torn` are the bytes after the last whole line; `broken` is the number of the first line whose `prev` is
    not the hash of the line before (None: the chain holds); `results` and `manifests` have the last sha256 of
    each key's result.json and manifest.json, `carried` the job that an attempt was carried over from, `calls`
    those of agents, `warned` its warnings, `told` what its own files were. `undecided` are keys that finished
    in a sitting which was killed: whether they are tried again was not decided, or not told.
    """

    lines: int = 0
    end: int = 0
    last: str = START
    torn: bytes = b""
    broken: int | None = None
    results: Mapping[str, str] = field(default_factory=dict)
    manifests: Mapping[str, str] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    undecided: frozenset[str] = frozenset()
    calls: CallTally = field(default_factory=CallTally)
    warned: WarningTally = field(default_factory=WarningTally)
    told: ToldFiles = field(default_factory=ToldFiles)


def read_history(path: Path) -> History:
    """Reads a journal; a missing file is an empty history. Raises BadFile for what is no journal."""
    account = _Account()
    held = torn = b""
    try:
        with Reader(path.parent) as reader, os.fdopen(reader.open(path.name), "rb") as stream:
            # Line by line: of a job of ten thousand attempts it is many megabytes.
            while line := _line(stream):
                if held:
                    account.take(held)
                held, torn = (line, b"") if line.endswith(b"\n") else (b"", line)
    except BadFile as error:
        if error.missing:
            return History()
        raise
    if held and _event(held) is None:
        # A crash of the machine may leave a last line of the right length that never reached the disk.
        torn = held
    elif held:
        account.take(held)
    attempts = account.attempts
    return History(
        lines=account.lines,
        end=account.end,
        last=account.last,
        torn=torn,
        broken=account.broken,
        results=attempts.results,
        manifests=attempts.manifests,
        carried=attempts.carried,
        undecided=frozenset(attempts.undecided),
        calls=account.calls,
        warned=account.warned,
        told=account.told,
    )


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline(LINE_BYTES)
    if len(line) == LINE_BYTES and not line.endswith(b"\n"):
        raise BadFile(f"{FILE} has a line of more than {LINE_BYTES} bytes")
    return line


def repairs(history: History) -> list[str]:
    """What was wrong with a journal that is gone on with, and what became of it."""
    found = []
    if history.torn:
        kept = f"events.torn-{history.lines + 1}"
        found.append(f"{FILE} ended in half a line ({len(history.torn)} bytes), which is kept as {kept}")
    if history.broken is not None:
        found.append(f"line {history.broken} of {FILE} does not follow the line before it")
    return found


@dataclass(slots=True)
class _Attempts:
    results: dict[str, str] = field(default_factory=dict)
    manifests: dict[str, str] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)

    def note(self, event: Mapping[str, Any]) -> None:
        kind, key = event.get("kind"), event.get("key")
        if kind in ("job_started", "job_finished"):  # a sitting decides before the one and the other
            self.undecided.clear()
        if not isinstance(key, str):
            return
        if kind == "attempt_finished":
            self.undecided.add(key)
        if kind in ("attempt_finished", "attempt_found", "attempt_carried"):
            self.results[key] = str(event.get("result"))
            if isinstance(manifest := event.get("manifest"), str):
                self.manifests[key] = manifest
            if kind == "attempt_carried":
                self.carried[key] = str(event.get("from"))
        elif kind in ("attempt_retried", "attempt_rerun", "attempt_damaged"):
            for known in (self.results, self.manifests, self.carried):
                known.pop(key, None)
            self.undecided.discard(key)


@dataclass(slots=True)
class _Account:
    """The whole lines that were read so far."""

    lines: int = 0
    end: int = 0
    last: str = START
    broken: int | None = None
    attempts: _Attempts = field(default_factory=_Attempts)
    calls: CallTally = field(default_factory=CallTally)
    warned: WarningTally = field(default_factory=WarningTally)
    told: ToldFiles = field(default_factory=ToldFiles)

    def take(self, line: bytes) -> None:
        self.lines += 1
        self.end += len(line)
        event = _event(line)
        if self.broken is None and (event is None or event.get("prev") != self.last):
            self.broken = self.lines
        self.last = line_hash(line[:-1])
        if event is not None:
            self.attempts.note(event)
            self.told.note(event)
            kind, key = str(event.get("kind")), event.get("key")
            self.calls.note(kind, str(key), event)
            self.warned.note(kind, key if isinstance(key, str) else None, event)


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


class Journal:
    """An open journal; one writer at a time (the job's lock sees to that)."""

    def __init__(self, path: Path, descriptor: int, history: History) -> None:
        self._path = path
        self._descriptor = descriptor
        self._end = history.end
        self._last = history.last

    @property
    def descriptor(self) -> int:
        """What is to be made durable for what was written."""
        return self._descriptor

    @property
    def root_hash(self) -> str:
        """The hash of the last line."""
        return self._last

    def write(
        self,
        kind: str,
        key: AttemptKey | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        at: str | None = None,
        durable: bool = False,
    ) -> None:
        """Appends one event of the moment `at` (now); `durable`: it survives a power cut.

        Raises DiskFull, leaving no half line.
        """
        event: dict[str, Any] = {**(fields or {}), "at": at or utc_now(), "kind": kind, "prev": self._last}
        if key is not None:
            event["key"] = str(key)
        line = canonical(event)
        try:
            with disk_errors(self._path.parent, len(line) + 1):
                write_all(self._descriptor, line + b"\n")
                if durable:
                    os.fsync(self._descriptor)
        except BaseException:
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(line) + 1
        self._last = line_hash(line)


@contextmanager
def open_journal(folder: Path, history: History | None = None) -> Iterator[Journal]:
    """The journal of a job folder, ready to append.

    A torn last line is moved to `events.torn-<line>` first, and the repair is journaled; a broken chain is
    journaled too. `history` is what `read_history` gave (read here when None).
    """
    path = folder / FILE
    known = read_history(path) if history is None else history
    if known.torn:
        write_atomic(folder / f"events.torn-{known.lines + 1}", known.torn)
    fresh = not path.exists()
    with disk_errors(folder, 4096):
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    try:
        if fresh:
            sync_folder(folder)
        if known.torn:
            os.ftruncate(descriptor, known.end)
        journal = Journal(path, descriptor, known)
        if known.torn:
            repaired = {"bytes": len(known.torn), "sha256": line_hash(known.torn), "line": known.lines + 1}
            journal.write("journal_repaired", fields=repaired)
        if known.broken is not None:
            journal.write("chain_broken", fields={"line": known.broken})
        yield journal
    finally:
        os.close(descriptor)
