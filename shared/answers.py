"""Reads what was submitted: bounded, strict, and with words that are fit for a public check."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from scorehost_sdk import evaluation_check

MAX_BYTES = 256 * 1024


class MalformedError(ValueError):
    """The submission is not in the form that the task asks for. The text quotes no gold."""


def read_text(path: str | None, *, max_bytes: int = MAX_BYTES) -> str:
    """The text of a submitted file; `path` is None when it was not handed in. Raises `MalformedError`."""
    if path is None:
        raise MalformedError("nothing was handed in")
    with Path(path).open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise MalformedError(f"the file is larger than {max_bytes} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError("the file is not UTF-8 text") from None


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedError(f"{name} is not a JSON number")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise MalformedError("a key stands twice in one object")
    return dict(pairs)


def read_object(path: str | None, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a submitted file. Raises `MalformedError`, also for NaN and for doubled keys."""
    text = read_text(path, max_bytes=max_bytes)
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except MalformedError:
        raise
    except (ValueError, RecursionError):
        raise MalformedError("the file is not JSON") from None
    if not isinstance(value, dict):
        raise MalformedError("the file holds no JSON object")
    return value


def number(text: str, *, low: float, high: float) -> float:
    """The number that `text` spells, between `low` and `high`. Raises `MalformedError`, also for NaN."""
    try:
        value = float(text)
    except ValueError:
        raise MalformedError("a value is not a number") from None
    if not math.isfinite(value) or not low <= value <= high:
        raise MalformedError(f"a value is not between {low} and {high}")
    return value


def same(left: object, right: object) -> bool:
    """Equality of plain values that keeps types apart: True is not 1, and 1 is not 1.0."""
    return type(left) is type(right) and left == right


def refused(problem: MalformedError) -> dict[str, Any]:
    """What an evaluator returns for a malformed submission: FAIL with one public check, `form`."""
    check = evaluation_check(
        "form",
        title="The submission has the asked form",
        status="FAIL",
        message=str(problem),
        visibility="public",
    )
    return {"status": "FAIL", "score": 0.0, "checks": [check]}
