"""RFC 8785 (JSON Canonicalization Scheme): the one form of a JSON value, which new digests are taken of."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from scorehost.model.json import BadJson

LARGEST = 2**53 - 1  # whole numbers up to here are the same in every reader of JSON


def jcs(value: Any) -> bytes:
    """The canonical bytes of a JSON value (dict, list, tuple, str, int, float, bool, None).

    Raises `BadJson` that names the place, for a whole number beyond 2^53-1, a lone surrogate, NaN, an
    infinity, a key that is not text, and what nests too deep.
    """
    try:
        return rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError):
        raise BadJson(uncanonical(value) or "holds what JSON cannot hold") from None


def jcs_digest(value: Any) -> str:
    """`sha256:` and the hex digest of the canonical bytes."""
    return "sha256:" + hashlib.sha256(jcs(value)).hexdigest()


def uncanonical(value: Any) -> str:
    """What of a JSON value has no canonical form, by its place; "" when all of it has one."""
    waiting = [("", value)]
    while waiting:
        place, item = waiting.pop()
        if fault := _fault(item):
            return f"{place[:200]}: {fault}" if place else fault
        if isinstance(item, dict):
            waiting += [(f"{place}.{key}" if place else str(key), child) for key, child in item.items()]
        elif isinstance(item, (list, tuple)):
            waiting += [(f"{place}[{number}]", child) for number, child in enumerate(item)]
    return ""


def _fault(item: Any) -> str:
    if isinstance(item, int) and not isinstance(item, bool) and abs(item) > LARGEST:
        return "a whole number beyond 2^53-1, which readers of JSON round differently; write it as text"
    if isinstance(item, float) and (item != item or item in (float("inf"), float("-inf"))):  # noqa: PLR0124
        return "a number that is not finite"
    if isinstance(item, str) and not _is_unicode(item):
        return "text with a lone surrogate, which UTF-8 cannot hold"
    if isinstance(item, dict) and not all(isinstance(key, str) and _is_unicode(key) for key in item):
        return "a key that is not text in UTF-8"
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
