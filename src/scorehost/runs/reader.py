"""The one reader of a runs folder: regular files of bounded size, read into their models, or why not.

What lies there may have been put there by anybody: a link, a FIFO, two gigabytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from scorehost.aio.aside import still_wanted
from scorehost.errors import UsageError
from scorehost.files.below import Below, Unread
from scorehost.model import json
from scorehost.model.call import CallRecord
from scorehost.model.check import MAX_BYTES, CheckRow
from scorehost.model.result import Result, read_result
from scorehost.model.summary import Summary
from scorehost.runs.manifest import MANIFEST_FILE, SALTS_FILE, Manifest, Salts, read_manifest
from scorehost.runs.record import JobRecord, parse_record

T = TypeVar("T", bound=BaseModel)
P = TypeVar("P")

MIB = 1024 * 1024
JOB_FILE = "job.json"
SUMMARY_FILE = "summary.json"
RESULT_FILE = "result.json"
CHECKS_FILE = "evaluation/checks.json"
CALL_FILE = "call.json"
OBSERVATION_FILE = "observation.jsonl"
ATTEMPTS = "attempts"
LOGS = "logs"
_KEY_LEVELS = 3  # task, submission, sample and repeat
_FORMAT = re.compile(r"scorehost\.[a-z]{1,20}/[0-9]{1,4}")

RECORD_BYTES = 256 * MIB  # of job.json and summary.json: they grow with the number of tasks
RESULT_BYTES = 16 * MIB  # metrics are 1 MiB at most
CHECKS_BYTES = 4 * MAX_BYTES  # printed with indentation and each row's defaults
MANIFEST_BYTES = 128 * MIB  # 10,000 files with long names that are escaped
CALL_BYTES = 64 * MIB  # each file of a call, and the observations of a phase


class BadFile(UsageError):
    """A file of a job that is not taken; its text names the file and says why. `missing`: it is not there."""

    def __init__(self, text: str, *, missing: bool = False) -> None:
        super().__init__(text)
        self.missing = missing


class Reader:
    """Reads what lies below one folder (a job's, an attempt's). For one thread at a time, and a `with`."""

    def __init__(self, folder: Path) -> None:
        """Raises BadFile when there is no such folder."""
        try:
            self._below = Below(folder)
        except Unread as error:
            raise _bad(str(folder), error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._below.__exit__(None, None, None)

    def data(self, path: str, most: int) -> bytes:
        """The bytes of a file. Raises BadFile."""
        try:
            return self._below.read(path, most)
        except Unread as error:
            raise _bad(path, error) from None

    def record(self) -> JobRecord:
        """job.json. Raises BadFile."""
        data = self.data(JOB_FILE, RECORD_BYTES)
        return _parsed(JOB_FILE, lambda: parse_record(data))

    def summary(self) -> Summary:
        """summary.json. Raises BadFile."""
        return self._model(SUMMARY_FILE, RECORD_BYTES, Summary)[0]

    def result(self, place: str = "") -> tuple[Result, str]:
        """result.json of the attempt at `place`, and its hex sha256. Raises BadFile."""
        return self._read(_at(place, RESULT_FILE), RESULT_BYTES, read_result)

    def manifest(self, place: str = "") -> tuple[Manifest, str]:
        """manifest.json of the attempt at `place`, and its hex sha256. Raises BadFile."""
        return self._read(_at(place, MANIFEST_FILE), MANIFEST_BYTES, read_manifest)

    def salts(self, place: str = "") -> Mapping[str, str]:
        """Salts of the attempt at `place` by path; none where nothing of it is private. Raises BadFile."""
        try:
            return self._model(_at(place, SALTS_FILE), MANIFEST_BYTES, Salts)[0].salts
        except BadFile as error:
            if error.missing:
                return {}
            raise

    def checks(self, place: str = "") -> tuple[CheckRow, ...]:
        """The rows of the checks.json of the attempt at `place`. Raises BadFile."""
        path = _at(place, CHECKS_FILE)
        data = self.data(path, CHECKS_BYTES)

        def rows() -> tuple[CheckRow, ...]:
            content = json.parse(data, max_bytes=CHECKS_BYTES)
            return tuple(CheckRow.model_validate_json(json.canonical(row)) for row in content["checks"])

        return _parsed(path, rows)

    def call(self, place: str) -> CallRecord:
        """call.json of the call whose folder is `place`. Raises BadFile."""
        return self._model(_at(place, CALL_FILE), CALL_BYTES, CallRecord)[0]

    def observations(self, phase: str) -> list[Any]:
        """The lines of observation.jsonl of a phase; empty when it called nobody. Raises BadFile."""
        path = f"{phase}/{OBSERVATION_FILE}"
        try:
            data = self.data(path, CALL_BYTES)
        except BadFile as error:
            if error.missing:
                return []
            raise
        return _parsed(path, lambda: [json.parse(line, max_bytes=CALL_BYTES) for line in data.splitlines()])

    def digest(self, path: str, most: int) -> str | None:
        """The hex sha256 of a file; None when it is not there. Raises BadFile."""
        try:
            return hashlib.sha256(self.data(path, most)).hexdigest()
        except BadFile as error:
            if error.missing:
                return None
            raise

    def identity(self, path: str) -> tuple[int, str]:
        """Size and hex sha256 of a file of any size, read in parts. Raises BadFile."""
        with os.fdopen(self.open(path), "rb", buffering=0) as stream:
            digest = hashlib.sha256()
            size = 0
            while data := stream.read(MIB):
                still_wanted()
                digest.update(data)
                size += len(data)
        return size, digest.hexdigest()

    def there(self, path: str) -> bool:
        """Whether anything of that name is there."""
        return self._below.there(path)

    def names(self, path: str) -> list[tuple[str, int]]:
        """Names in a folder with the kind of each (as `stat.S_IFMT` gives it), sorted; empty without it.

        Raises BadFile when it is no folder.
        """
        try:
            return self._below.names(path)
        except Unread as error:
            if error.missing:
                return []
            raise _bad(path, error) from None

    def walked(self, path: str) -> Iterator[tuple[str, int]]:
        """Every path below a folder that is no folder itself, with its kind; empty without it."""
        waiting = [path]
        while waiting:
            place = waiting.pop()
            for name, kind in self.names(place):
                if kind == stat.S_IFDIR:
                    waiting.append(_at(place, name))
                else:
                    yield _at(place, name), kind

    def open(self, path: str) -> int:
        """A descriptor of a file, which the caller closes. Raises BadFile."""
        try:
            return self._below.open(path)
        except Unread as error:
            raise _bad(path, error) from None

    def attempts(self) -> Iterator[str]:
        """`<task>/<submission>/<sample>.<repeat>` of every published attempt of a job.

        Where a link stands in the way the name ends there: what is read below it is refused.
        """
        waiting = [""]
        while waiting:
            place = waiting.pop()
            level = place.count("/") + 1 if place else 0
            for name, kind in reversed(self.names(_at(ATTEMPTS, place) if place else ATTEMPTS)):
                # A name with a dot in front is an attempt that is still being drafted.
                if name[0] == "." or kind not in (stat.S_IFDIR, stat.S_IFLNK):
                    continue
                if kind == stat.S_IFLNK or level == _KEY_LEVELS - 1:
                    yield _at(place, name)
                else:
                    waiting.append(_at(place, name))

    def _model(self, path: str, most: int, model: type[T]) -> tuple[T, str]:
        return self._read(path, most, model.model_validate_json)

    def _read(self, path: str, most: int, parse: Callable[[bytes], P]) -> tuple[P, str]:
        data = self.data(path, most)
        return _parsed(path, lambda: parse(data)), hashlib.sha256(data).hexdigest()


def read_checks(folder: Path) -> tuple[CheckRow, ...]:
    """The rows of the checks.json of the attempt in `folder`. Raises BadFile."""
    with Reader(folder) as reader:
        return reader.checks()


def _parsed(path: str, parse: Callable[[], P]) -> P:
    name = path.rpartition("/")[2]
    try:
        return parse()
    except ValidationError as error:
        for found in error.errors(include_url=False):
            given = found.get("input")
            if found["loc"] == ("format",) and isinstance(given, str) and _FORMAT.fullmatch(given):
                raise BadFile(
                    f"{name} has format {given}, which this version of scorehost does not read"
                ) from None
        raise BadFile(f"{name} does not parse") from None
    except (json.BadJson, KeyError, TypeError, RecursionError):
        raise BadFile(f"{name} does not parse") from None


def _bad(path: str, error: Unread) -> BadFile:
    # The file's own name where the file itself is meant, as messages have it; a step on the way in full.
    place = path.rpartition("/")[2] if error.place == path else error.place
    colon = "" if error.why.startswith(("is ", "has ", "grew ")) else ":"
    return BadFile(f"{place}{colon} {error.why}", missing=error.missing)


def _at(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name
