"""Declared metrics of an attempt: those that are numbers, and why another one is in no figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

MISSING = "missing"


def finite(value: Any) -> float | None:
    """The value as figures take it; None for what is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def unusable(metrics: Mapping[str, Any], declared: Iterable[str]) -> dict[str, str]:
    """Each declared metric that is in no figure, with what it is instead of a finite number."""
    return {
        name: _kind(metrics[name]) if name in metrics else MISSING
        for name in declared
        if finite(metrics.get(name)) is None
    }


def unusable_words(found: Mapping[str, str]) -> tuple[str, ...]:
    """What `unusable` found, a sentence each. It quotes no value: that may hold gold."""
    return tuple(
        f"the declared metric {name} is {kind}, so no figure counts it" for name, kind in found.items()
    )


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    return "a number too large" if isinstance(value, int) else "not finite"
