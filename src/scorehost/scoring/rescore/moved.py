"""What became of each attempt when it was scored again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scorehost.jobs.outcome import JobOutcome, Row
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Result, Status


@dataclass(frozen=True, slots=True)
class Move:
    """An attempt whose verdict or score is another one now; `reason` is that of the new verdict."""

    key: AttemptKey
    before: Status
    before_score: float | None
    after: Status
    after_score: float | None
    reason: str

    @property
    def verdict(self) -> bool:
        """Whether the status moved, and not the score alone."""
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Rescored:
    """The end of a rescore: the new job, its parent's id, how many attempts stand as they were, the moves."""

    outcome: JobOutcome
    parent: str
    carried: int
    moved: tuple[Move, ...]


def moves(before: Mapping[AttemptKey, Result], rows: Iterable[Row]) -> tuple[Move, ...]:
    """The rows whose status or score differs from what stood before, in the order of the rows."""
    found = []
    for row in rows:
        was = before.get(row.key)
        if was is not None and (was.status, was.score) != (row.status, row.score):
            found.append(Move(row.key, was.status, was.score, row.status, row.score, row.reason))
    return tuple(found)
