"""Checks by id in both jobs: those whose status moved, folded by task and check."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.model.comparison import CheckChange
from scorehost.runs.reader import CHECKS_BYTES, CHECKS_FILE, BadFile, Reader

if TYPE_CHECKING:
    from scorehost.compare.pairs import Pair
    from scorehost.model.check import CheckStatus
    from scorehost.runs.reading import Attempt, ReadJob

LISTED = 1_000  # moved checks that a comparison lists; more are counted
NAMED = 3  # pairs that each names


@dataclass(frozen=True, slots=True)
class MovedChecks:
    """The most frequent first. `unread`: pairs in which the checks of one side cannot be read."""

    changes: tuple[CheckChange, ...]
    left_out: int
    unread: tuple[str, ...]


def moved_checks(a: ReadJob, b: ReadJob, pairs: Sequence[Pair]) -> MovedChecks:
    """Reads checks.json of both sides of each pair, and holds the statuses of each id against each other."""
    found: dict[tuple[str, str, CheckStatus | None, CheckStatus | None], tuple[int, list[str]]] = {}
    unread = []
    with Reader(a.folder.path) as in_a, Reader(b.folder.path) as in_b:
        for pair in pairs:
            try:
                moved = _moved(in_a, pair.a, in_b, pair.b)
            except BadFile:
                unread.append(str(pair.key))
                continue
            for name, ours, theirs in moved:
                place = (pair.key.task_id, name, ours, theirs)
                count, first = found.get(place, (0, []))
                bisect.insort(first, str(pair.key))
                found[place] = (count + 1, first[:NAMED])
    rows = [
        CheckChange(task_id=task, id=name, status_a=ours, status_b=theirs, count=count, attempts=tuple(first))
        for (task, name, ours, theirs), (count, first) in found.items()
    ]
    rows.sort(key=lambda one: (-one.count, one.task_id, one.id))
    return MovedChecks(tuple(rows[:LISTED]), max(len(rows) - LISTED, 0), tuple(unread))


def _moved(
    in_a: Reader, a: Attempt, in_b: Reader, b: Attempt
) -> list[tuple[str, CheckStatus | None, CheckStatus | None]]:
    if _digest(in_a, a) == _digest(in_b, b):  # most are byte for byte the same, and need no parsing
        return []
    ours, theirs = _statuses(in_a, a), _statuses(in_b, b)
    return [
        (name, ours.get(name), theirs.get(name))
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]


def _digest(reader: Reader, one: Attempt) -> str | None:
    return reader.digest(f"{one.place}/{CHECKS_FILE}", CHECKS_BYTES)


def _statuses(reader: Reader, one: Attempt) -> Mapping[str, CheckStatus]:
    try:
        return {row.id: row.status for row in reader.checks(one.place)}
    except BadFile as error:
        if error.missing:
            return {}
        raise
