"""What a job would do: its attempts and what each would be handed; no engine, no job folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scorehost.api.running import resolved
from scorehost.errors import AttemptFailed, UsageError
from scorehost.files.scratch import scratch
from scorehost.jobs.checks import check_running
from scorehost.jobs.plan import Desk
from scorehost.jobs.running import Running
from scorehost.runs.blobs import Blobs
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.scoring.planning import plan_score
from scorehost.submissions.intake import take_in

if TYPE_CHECKING:
    from scorehost.attempt.work import WorkOrder
    from scorehost.jobs.plan import Asked
    from scorehost.model.failure import Failure
    from scorehost.model.ids import AttemptKey


@dataclass(frozen=True, slots=True)
class Planned:
    """One attempt that would be made; `problem` says why it would be ERROR before anything starts."""

    key: AttemptKey
    artifacts: tuple[str, ...]  # ids of those that are handed in
    missing: tuple[str, ...]
    size: int  # bytes, over all artifacts
    problem: Failure | None


@dataclass(frozen=True, slots=True)
class DryRun:
    """Every attempt of a job in the order in which they would be taken."""

    planned: tuple[Planned, ...]
    warnings: tuple[str, ...]


def plan(asked: Asked | None, running: Running) -> DryRun:
    """Reads, checks and plans all that a score job would, then forgets it.

    Blocking code: every submission is copied once to be checked. Raises SpecError and UsageError.
    """
    kind, asked, running = resolved(asked, running)
    if not isinstance(asked, ScoreAsked):
        raise UsageError(f"There is no dry run of a {kind.tag} job yet.")
    check_running(running)
    chosen = choose(asked, resumed=running.resume is not None)
    warnings: list[str] = []
    with scratch("plan") as place:
        desk = Desk(place / "incoming", warnings.append)
        made = plan_score(chosen, desk, allow_shared_host=running.allow_shared_host)
        seen: dict[tuple[str, str, int], Planned] = {}
        planned = []
        for order in made.orders:
            sample = (order.key.task_id, order.key.submission, order.key.sample)
            if sample not in seen:
                seen[sample] = _looked_at(order)
            one = seen[sample]
            planned.append(replace(one, key=order.key))
    return DryRun(tuple(planned), tuple(dict.fromkeys(warnings)))


def _looked_at(order: WorkOrder) -> Planned:
    declared = [artifact.id for artifact in order.work.task.spec.artifacts]
    with scratch("plan") as place:
        try:
            taken = take_in(order.work.task.spec, order.work.sample, Blobs(place))
        except AttemptFailed as error:
            return Planned(order.key, (), tuple(declared), 0, error.failure)
    present = taken.artifacts
    return Planned(
        key=order.key,
        artifacts=tuple(name for name in declared if name in present),
        missing=tuple(name for name in declared if name not in present),
        size=sum(tree.size for tree in present.values()),
        problem=None,
    )
