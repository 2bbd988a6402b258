"""What `compare` finds between two jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scorehost.model.check import CheckStatus
from scorehost.model.direction import GroupDirection
from scorehost.model.frozen import Frozen
from scorehost.model.result import Status

Kind = Literal["scoring", "unknown", "rebuilt", "setting", "subject"]


class Side(Frozen):
    """One of the two jobs; `attempts` is how many finished attempts it has."""

    job_id: str
    name: str | None
    dataset_id: str
    dataset_version: str
    status: str
    attempts: int


class Difference(Frozen):
    """Something that is not the same in both jobs.

    `scoring`: verdicts rest on it, so that scores are no one measure. `unknown`: they rest on it, and nobody
    can tell whether it is the same. `rebuilt`: an image was built anew from
    the same recipe. `setting`: it bears on how jobs run. `subject`: what was handed in. `tasks` are those
    that it concerns; empty: the whole job.
    """

    what: str
    kind: Kind
    text: str
    tasks: tuple[str, ...] = ()


class Change(Frozen):
    """A pair whose verdict or score moved; `reason` is why the attempt of B is no PASS."""

    task_id: str
    submission: str
    submission_b: str
    sample: int
    repeat: int
    status_a: Status
    status_b: Status
    score_a: float | None
    score_b: float | None
    reason: str


class CheckChange(Frozen):
    """A check that has another status in B than in A, in `count` pairs; None: the check is not there.

    `attempts` are the first of these pairs, under the names of A.
    """

    task_id: str
    id: str
    status_a: CheckStatus | None
    status_b: CheckStatus | None
    count: int
    attempts: tuple[str, ...]


class MetricComparison(Frozen):
    """A declared metric over the `n` pairs in which A and B have a number.

    In `left_out` pairs one of them has none, or is an ERROR that is left out of means.
    """

    id: str
    direction: Literal["maximize", "minimize"]
    aggregate: Literal["mean", "median", "min", "max", "sum"]
    n: int
    left_out: int
    value_a: float | None
    value_b: float | None
    difference: float | None


class TaskComparison(Frozen):
    """A task over its `n` pairs that count in both means; `left_out` have an ERROR that counts in none."""

    task_id: str
    n: int
    left_out: int
    passed_a: int
    passed_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None


class Interval(Frozen):
    """Percentile bootstrap of the difference of means, tasks drawn as wholes; None: undefined, see `why`."""

    lower: float | None
    upper: float | None
    confidence: float
    n_tasks: int
    resamples: int
    seed: int
    why: str = ""


class McNemar(Frozen):
    """Exact test over samples: `only_a` pass in A alone, `only_b` in B alone. `p_value` is two-sided; None:
    undefined, since no sample passes in one job alone.
    """

    n: int
    both: int
    neither: int
    only_a: int
    only_b: int
    p_value: float | None


class Figures(Frozen):
    """B against A over `n_pairs` pairs that count in both, of `n_tasks` tasks; means are weighted by task."""

    n_pairs: int
    n_tasks: int
    left_out: int = Field(description="pairs with an ERROR that says nothing of the submission, in A or in B")
    errors_as_lowest_a: int
    errors_as_lowest_b: int
    direction: GroupDirection = Field(
        "maximize", description="which way scores are better; mixed: tasks of both, so there are no means"
    )
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: Interval
    mcnemar: McNemar


class Regressions(Frozen):
    """`lost`: attempts that were PASS in A and are FAIL or ERROR in B, or were never finished in B.
    `mean_fell`: it got worse, which is a rise where scores are minimised; None where no difference of means
    is told.
    """

    lost: tuple[str, ...]
    mean_fell: bool | None

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.lost) or self.mean_fell is True


class Comparison(Frozen):
    """Two jobs, attempt by attempt. `figures` is None where scoring inputs differ and nobody allowed it."""

    format: Literal["scorehost.comparison/1"] = "scorehost.comparison/1"
    a: Side
    b: Side
    comparable: bool = Field(description="whether nothing that verdicts rest on differs, or cannot be told")
    mismatch_allowed: bool = Field(description="figures are told though scoring inputs differ")
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    n_pairs: int
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    figures: Figures | None
    regressions: Regressions
    tasks: tuple[TaskComparison, ...]
    changes: tuple[Change, ...]
    checks: tuple[CheckChange, ...] = Field((), description="those that moved, also where no verdict did")
    checks_left_out: int = Field(0, description="further checks that moved and are not listed")
    metrics: tuple[MetricComparison, ...] = Field((), description="none where figures are refused")
