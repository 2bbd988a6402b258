"""What hand-ins of a task are held against: its solution's score, and the sense of a verdict by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.model.direction import better, worst_of
from scorehost.model.failure import Blame
from scorehost.model.result import GOOD
from scorehost.model.verdicts import contradiction
from scorehost.runs.reader import BadFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scorehost.model.direction import Direction
    from scorehost.model.result import Result
    from scorehost.runs.reading import Attempt
    from scorehost.spec.dataset import Task

# What an evaluator brings upon itself when it meets what it did not expect: it should have said FAIL.
RAISED = frozenset({"evaluator_exception", "evaluator_exit", "invalid_result", "result_too_large"})


@dataclass(frozen=True, slots=True)
class Standard:
    """`score`: the worst that the solution got; None where it is not known, so that nothing is held to it.

    `alone`: the task has a score and no verdict; then what is no worse than the solution passes.
    """

    direction: Direction
    score: float | None = None
    alone: bool = False

    def passed(self, one: Attempt) -> bool:
        """Whether an attempt passes."""
        return self.as_good(one.result) if self.alone else one.result.status == "PASS"

    def how(self, one: Attempt) -> str:
        """By what it passes."""
        if not self.alone:
            return "is PASS"
        return (
            f"scores {_number(one.result.score)}, which is no worse than its solution's {_number(self.score)}"
        )

    def as_good(self, result: Result) -> bool:
        """Whether a result has a score that is as good as the solution's."""
        if self.score is None or result.score is None:
            return False
        return not better(self.score, result.score, self.direction)

    def surpassed(self, result: Result) -> bool:
        """Whether a result has a better score than the solution."""
        if self.score is None or result.score is None:
            return False
        return better(result.score, self.score, self.direction)

    def fell(self, result: Result) -> bool:
        """Whether a score is worse than the solution's: its fault was noticed, whatever the status says."""
        return self.score is not None and result.score is not None and not self.as_good(result)

    def words(self, result: Result) -> str:
        """Both scores."""
        return f"score {_number(result.score)}, its solution has {_number(self.score)}"


def standard(task: Task, tries: Iterable[Attempt]) -> Standard:
    """What the attempts at a task's solution set; nothing unless each that was scored is taken."""
    output = task.spec.evaluation.output
    way, alone = output.direction, output.verdict == "none"
    results = [one.result for one in tries if not machinery(one)]
    scores = [one.score for one in results if one.score is not None and one.status in GOOD]
    if not scores or len(scores) < len(results):
        return Standard(way, alone=alone)
    if len(set(scores)) > 1 and not alone:
        return Standard(way)  # that its repeats differ is told, and nothing can be held to either
    return Standard(way, worst_of(way, scores), alone)


def contradicts(task: Task, one: Attempt) -> str:
    """What in a verdict contradicts its status; "" for none."""
    result = one.result
    try:
        checks: Sequence[str] = [row.status for row in one.checks()]
    except BadFile:
        checks = []
    output = task.spec.evaluation.output
    return contradiction(result.status, result.score, output.score_range, checks, output.direction)


def machinery(one: Attempt) -> bool:
    """Whether an ERROR says nothing of task and submission: engine, environment, adapter, scorehost."""
    error = one.result.error
    return error is not None and error.blame not in (Blame.DATASET, Blame.SUBMISSION)


def raised(one: Attempt) -> bool:
    """Whether an attempt ended because the evaluator did not get along with what it met."""
    error = one.result.error
    return error is not None and error.kind in RAISED


def _number(score: float | None) -> str:
    return "none" if score is None else f"{score:g}"
