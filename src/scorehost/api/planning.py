"""What a job would do: its attempts and what each would be handed; no engine, no job folder."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import AttemptFailed
from scorehost.jobs.resume import resumed_options
from scorehost.runs.blobs import Blobs
from scorehost.scoring.rescore.plan import plan_for
from scorehost.spec.loading import load_dataset, load_either
from scorehost.submissions.intake import take_in

if TYPE_CHECKING:
    from scorehost.attempt.order import Order
    from scorehost.jobs.options import RunOptions
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


def plan(options: RunOptions) -> DryRun:
    """Reads, checks and plans all that a job would, then forgets it.

    Blocking code: every submission is copied once to be checked. Raises SpecError and UsageError.
    """
    load = load_dataset if options.resume is None else load_either
    options = resumed_options(options)
    dataset = load(options.dataset, profiles=options.profiles, gold=options.gold)
    warnings = list(dataset.warnings)
    with tempfile.TemporaryDirectory(prefix="scorehost-plan-") as place:
        made = plan_for(options, dataset, staging=Path(place) / "incoming", warn=warnings.append)
        seen: dict[tuple[str, str, int], Planned] = {}
        planned = []
        for order in made.orders:
            sample = (order.key.task_id, order.key.submission, order.key.sample)
            if sample not in seen:
                seen[sample] = _looked_at(order)
            one = seen[sample]
            planned.append(replace(one, key=order.key))
    return DryRun(tuple(planned), tuple(dict.fromkeys(warnings)))


def _looked_at(order: Order) -> Planned:
    declared = [artifact.id for artifact in order.task.spec.artifacts]
    with tempfile.TemporaryDirectory(prefix="scorehost-plan-") as place:
        try:
            hand_in = take_in(order.task.spec, order.source, Blobs(Path(place)))
        except AttemptFailed as error:
            return Planned(order.key, (), tuple(declared), 0, error.failure)
    present = hand_in.artifacts
    return Planned(
        key=order.key,
        artifacts=tuple(name for name in declared if name in present),
        missing=tuple(name for name in declared if name not in present),
        size=sum(tree.size for tree in present.values()),
        problem=None,
    )
