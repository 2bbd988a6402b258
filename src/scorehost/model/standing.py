"""Whether two verdicts rest on the same thing: told apart from what nobody can tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Literal

from scorehost.model.result import ScoringDigests

Part = Literal["task", "evaluator", "gold", "limits", "sdk"]
PARTS: tuple[Part, ...] = ("task", "evaluator", "gold", "limits", "sdk")
_BY_JSON = ("task", "limits")  # their canonical form is another one since result/2


class Standing(StrEnum):
    """`OTHER_KEY`: gold was bound under two keys. `UNKNOWN`: not said, or by digests of different formats."""

    SAME = "same"
    DIFFERS = "differs"
    OTHER_KEY = "other key"
    UNKNOWN = "unknown"


def standing(ours: Iterable[ScoringDigests], theirs: Iterable[ScoringDigests], part: Part) -> Standing:
    """How one part stands between two sets of attempts at one task."""
    a, b = _by_way(ours, part), _by_way(theirs, part)
    shared = a.keys() & b.keys()
    if any(a[way] != b[way] for way in shared):
        return Standing.DIFFERS
    if shared:
        return Standing.SAME
    keyed = part == "gold" and all(sides and "" not in sides for sides in (a, b))
    return Standing.OTHER_KEY if keyed else Standing.UNKNOWN


def mixed(known: Iterable[ScoringDigests]) -> bool:
    """Whether the attempts at one task were scored by things that are known to differ."""
    listed = list(known)
    if any(len(values) > 1 for part in PARTS for values in _by_way(listed, part).values()):
        return True
    return _clash(one.images for one in listed) or _clash(one.roles for one in listed)


def _by_way(scoring: Iterable[ScoringDigests], part: Part) -> Mapping[str, set[str]]:
    """The digests of a part by how they were taken: only those that were taken in one way can be compared."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in scoring:
        value = getattr(one, part)
        if value is not None:
            found[_way(one, part)].add(value)
    return found


def _way(scoring: ScoringDigests, part: Part) -> str:
    if part == "gold":
        return scoring.gold_key or ""
    return "1" if part in _BY_JSON and scoring.first else ""


def _clash(maps: Iterable[Mapping[str, str]]) -> bool:
    # What one attempt never started or asked is unknown there: only two that are known can differ.
    seen: dict[str, str] = {}
    return any(seen.setdefault(name, value) != value for one in maps for name, value in one.items())
