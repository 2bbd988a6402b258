"""Strict JSON both ways: no duplicate keys, no NaN, capped before parsing and in depth after."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, NoReturn

from pydantic_core import PydanticSerializationError, to_json

DEPTH_LIMIT = 64
VALUES_LIMIT = 1_000_000  # of one text: each takes 60 bytes and more once it is parsed, `[]` 3 before
# A whole string; one without an end reaches to the end of the text, so that no place is looked at twice.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


class BadJson(ValueError):
    """The text is not JSON as scorehost reads it; the message says why, never quoting more than a key."""


def _refuse_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not a JSON number")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise BadJson(f"the key {key[:80]!r} stands twice in one object")
        seen[key] = value
    return seen


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadJson("a number is too large for a float")
    return value


def parse(
    data: bytes, *, max_bytes: int, max_depth: int = DEPTH_LIMIT, max_values: int = VALUES_LIMIT
) -> Any:
    """The JSON value in `data` (UTF-8).

    Raises `BadJson` for more than `max_bytes` or `max_values` (seen before anything is made of them), text
    that is not UTF-8 or not JSON, duplicate keys, NaN, infinities, numbers beyond a float, and nesting deeper
    than `max_depth`.
    """
    if len(data) > max_bytes:
        raise BadJson(f"{len(data)} bytes, more than {max_bytes}")
    if _separators(data) >= max_values and _separators(_STRING.sub(b"", data)) >= max_values:
        raise BadJson(f"more than {max_values} values")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except BadJson:
        raise
    except RecursionError:
        raise BadJson(f"nested deeper than {max_depth} levels") from None
    except UnicodeDecodeError as error:
        raise BadJson(f"not UTF-8, from byte {error.start + 1} on") from None
    except ValueError as error:
        raise BadJson(f"not JSON: {str(error)[:120]}") from None
    if not within_depth(value, max_depth):
        raise BadJson(f"nested deeper than {max_depth} levels")
    return value


def _separators(data: bytes) -> int:
    """How many members of lists and objects there are at most: each follows a comma, `[` or `{`."""
    return sum(map(data.count, (b",", b"[", b"{")))


def within_depth(value: Any, limit: int) -> bool:
    """Whether a JSON value nests at most `limit` containers (a plain value is depth 0)."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return not any(isinstance(item, (dict, list)) for item in level)


def _printable(text: str) -> str:
    # Names that are not UTF-8 are carried with surrogates inside Python; a file must be valid UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, dict):
        return {_printable(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value


def dump(value: Any) -> bytes:
    """`value` as UTF-8 JSON for a person to read, ending in a newline; lone surrogates come out escaped."""
    try:
        data = to_json(value, indent=2)  # twenty times as quick as the standard library's way to indent
    except PydanticSerializationError:
        data = b""
    if not data or b"NaN" in data or b"Infinity" in data:  # no numbers of JSON; in a text they may stand
        data = json.dumps(_clean(value), ensure_ascii=False, allow_nan=False, indent=2).encode("utf-8")
    return data + b"\n"


def canonical(value: Any) -> bytes:
    """`value` as one line with sorted keys and no spaces: the bytes that digests are taken of."""
    try:
        return _CANONICAL.encode(value).encode("utf-8")
    except UnicodeEncodeError:  # so rare that texts are looked at one by one only then
        return _CANONICAL.encode(_clean(value)).encode("utf-8")


_CANONICAL = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical form of `value`."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()
