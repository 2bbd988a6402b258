"""A finished attempt as the job's figures need it: small, so that tens of thousands fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from scorehost.model.failure import Failure, counts_as_lowest
from scorehost.model.metrics import finite, unusable

if TYPE_CHECKING:
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Result, ScoringDigests, Status


_NOBODY: frozenset[str] = frozenset()
_ROLES: dict[frozenset[str], frozenset[str]] = {}  # one set serves all attempts that asked the same
_NO_METRICS: Mapping[str, float] = MappingProxyType({})  # one for all attempts
_NONE_UNUSABLE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Scored:
    """One finished attempt; `metrics` holds the declared ones that are finite numbers.

    `unusable` says of the others of an attempt with a verdict what they are instead.
    `answered`: roles that answered a call of it. `provoked`: an ERROR that the work itself can have brought
    about, as `scorehost.runs.provoked` decides over the whole job.
    """

    key: AttemptKey
    number: int
    status: Status
    score: float | None
    error: Failure | None
    seconds: float
    metrics: Mapping[str, float]
    digests: ScoringDigests | None
    unusable: Mapping[str, str] = field(default_factory=lambda: _NONE_UNUSABLE)
    warnings: int = 0  # how many its result has
    answered: frozenset[str] = _NOBODY
    provoked: bool = False

    @property
    def counts_as_lowest(self) -> bool:
        """Whether it is an ERROR that counts as the lowest score: nobody gains by crashing an evaluator."""
        if self.error is None:
            return False
        return self.provoked or counts_as_lowest(self.error.blame, self.error.phase)

    @property
    def left_out(self) -> bool:
        """Whether it is an ERROR that says nothing about the submission."""
        return self.status == "ERROR" and not self.counts_as_lowest


def scored(result: Result, declared: Iterable[str]) -> Scored:
    """What the job keeps of a result; `declared` are the ids of the task's metrics."""
    names = tuple(declared)
    numbers = {name: finite(result.metrics.get(name)) for name in names}
    others = {} if result.status == "ERROR" else unusable(result.metrics, names)
    return Scored(
        key=result.key,
        number=result.try_number,
        status=result.status,
        score=result.score,
        error=result.error,
        seconds=_seconds(result.started_at, result.finished_at),
        metrics={name: number for name, number in numbers.items() if number is not None} or _NO_METRICS,
        digests=result.digests.scoring,
        unusable=others or _NONE_UNUSABLE,
        warnings=len(result.warnings),
        answered=_answered(result),
    )


def _answered(result: Result) -> frozenset[str]:
    """Roles whose answers could be used: what a verdict did without was no JSON where none was asked for."""
    found = frozenset(
        role
        for role, calls in result.agents.items()
        if calls.answered > (0 if result.error is None else calls.unreadable)
    )
    return _ROLES.setdefault(found, found)


def _seconds(started_at: str, finished_at: str) -> float:
    try:
        passed = datetime.fromisoformat(finished_at) - datetime.fromisoformat(started_at)
    except (ValueError, TypeError):
        return 0.0
    return max(passed.total_seconds(), 0.0)
