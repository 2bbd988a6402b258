"""Rows of a predictions file: JSON lines or one array, plain or gzip, in UTF-8 or UTF-16; bounded."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from scorehost.aio.aside import still_wanted
from scorehost.errors import UsageError
from scorehost.model.json import BadJson, parse

MAX_LINE_BYTES = 64 * 1024 * 1024  # of a line, and of a file that is one array
MAX_TEXT_BYTES = 1024**3  # all lines together, blank ones too; texts stay in memory until the job ends
MAX_LINES = 2_000_000  # blank ones too: twice as many as a job may have attempts
MAX_ROW_VALUES = 200_000  # texts, numbers, lists and objects of a row, of which its artifacts alone are read
_GZIP = b"\x1f\x8b"
_ReadLine = Callable[[int], bytes]


def rows_of(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Of each row its line and "" (of a row of an array 0 and its place, `[3]`), and the row itself.

    A row that cannot be read is a BadJson that says why. Raises UsageError for a file that is too large;
    OSError, EOFError, zlib.error for one that cannot be read.
    """
    with path.open("rb") as file:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb")) if packed else file
        with (
            io.BufferedReader(cast("io.RawIOBase", stream)) as buffered,
            _in_utf8(buffered, path) as readline,
        ):
            lines = _lines(readline, path)
            first = next(lines, None)
            if first is None:
                return
            if first[1].lstrip().startswith(b"["):
                yield from _array(first[1], lines, path)
                return
            for number, line in chain((first,), lines):
                yield number, "", _row(line)


def _row(line: bytes) -> Any:
    try:
        return parse(line, max_bytes=MAX_LINE_BYTES, max_values=MAX_ROW_VALUES)
    except BadJson as error:
        return error


def _array(first: bytes, lines: Iterator[tuple[int, bytes]], path: Path) -> Iterator[tuple[int, str, Any]]:
    pieces, size = [first], len(first)
    for _number, line in lines:
        size += len(line)
        if size > MAX_LINE_BYTES:
            raise UsageError(
                f"{path} is one JSON array of more than {MAX_LINE_BYTES} bytes.",
                hint="Write it as JSON lines, one row a line: these are read one by one.",
            )
        pieces.append(line)
    try:
        rows = parse(b"".join(pieces), max_bytes=MAX_LINE_BYTES)
    except BadJson as error:
        yield 1, "", BadJson(f"begins with `[`, and is no JSON array: {error}")
        return
    for place, row in enumerate(rows):
        yield 0, f"[{place}]", row


def _lines(readline: _ReadLine, path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, by number from 1."""
    total = 0
    for number in range(1, MAX_LINES + 2):
        line = readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        still_wanted()
        total += len(line)
        if len(line) > MAX_LINE_BYTES:
            raise UsageError(f"{path}:{number} is longer than {MAX_LINE_BYTES} bytes.")
        if total > MAX_TEXT_BYTES:
            raise UsageError(
                f"{path} holds more than {MAX_TEXT_BYTES} bytes of rows.",
                hint="Hand in folders, or split it over several jobs.",
            )
        if line.strip():
            yield number, line
    raise UsageError(f"{path} has more than {MAX_LINES} lines.", hint="Split it over several jobs.")


@contextmanager
def _in_utf8(buffered: io.BufferedReader[Any], path: Path) -> Iterator[_ReadLine]:
    """Reads lines as UTF-8, without a byte order mark; what has one of UTF-16 is decoded first."""
    start = buffered.peek(len(codecs.BOM_UTF8))[: len(codecs.BOM_UTF8)]
    if start == codecs.BOM_UTF8:
        buffered.read(len(codecs.BOM_UTF8))
    elif start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        with io.TextIOWrapper(buffered, encoding="utf-16", newline="\n") as text:

            def decoded(size: int) -> bytes:
                try:
                    return text.readline(size).encode("utf-8", "surrogatepass")
                except UnicodeDecodeError:
                    raise UsageError(f"{path} begins as UTF-16 does, and is not UTF-16 throughout.") from None

            yield decoded
            return
    yield buffered.readline
