"""Limits that an engine says it cannot enforce."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.engine.door import EngineInfo

# The engine's words for a limit that its kernel cannot enforce, and the key of task.yaml that rests on it.
LIMIT_WORDS = (
    (re.compile(r"memory limit", re.IGNORECASE), "memory_mb"),
    (re.compile(r"swap limit|swap account", re.IGNORECASE), "memory_mb (swap is not limited)"),
    (re.compile(r"cpu cfs (quota|period)", re.IGNORECASE), "cpus"),
    (re.compile(r"pids limit", re.IGNORECASE), "pids"),
)
LACKING = re.compile(r"\bno\b|not support|without|disabled|discarded", re.IGNORECASE)


def limits_not_enforced(info: EngineInfo) -> list[str]:
    """Limits of task.yaml that this engine cannot enforce, with its own words; [] when all hold."""
    return unenforced_words(info.warnings)


def unenforced_words(warnings: Iterable[str]) -> list[str]:
    """The warnings of an engine that say that a limit does not hold, each with the key that rests on it."""
    found = []
    for warning in warnings:
        said = warning.removeprefix("WARNING: ")
        found += [
            f"{key}: {said}" for words, key in LIMIT_WORDS if words.search(said) and LACKING.search(said)
        ]
    return found
