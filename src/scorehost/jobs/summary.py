"""summary.json: the figures of a job, and of its tasks, submissions and tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.jobs.statistics import Figures
from scorehost.model.ids import AttemptKey, utc_now
from scorehost.model.standing import mixed
from scorehost.model.summary import Group, Groups, JobStatus, Summary
from scorehost.runs.provoked import provoked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scorehost.jobs.kind import Kind
    from scorehost.jobs.plan import Plan
    from scorehost.model.result import ScoringDigests
    from scorehost.runs.record import JobRecord
    from scorehost.runs.scored import Scored
    from scorehost.runs.tally import CallTally
    from scorehost.runs.warned import WarningTally


@dataclass(slots=True)
class _Part:
    planned: int = 0
    attempts: list[Scored] = field(default_factory=list)
    task_ids: set[str] = field(default_factory=set)


def summarise(
    kind: Kind[Any, Any],
    record: JobRecord,
    plan: Plan[Any],
    attempts: Mapping[AttemptKey, Scored],
    *,
    status: JobStatus,
    message: str = "",
    carried: int = 0,
    calls: CallTally | None = None,
    warned: WarningTally | None = None,
) -> Summary:
    """The summary of a job in which `attempts` are finished, `carried` of them by an earlier job."""
    decided = provoked(attempts.values(), plan.subject.tasks)
    attempts = {key: decided.counted(one) for key, one in attempts.items()}
    whole = _Part()
    tasks: dict[str, _Part] = {}
    submissions: dict[str, _Part] = {}
    tags: dict[str, _Part] = {}
    for order in plan.orders:
        parts = [
            whole,
            tasks.setdefault(order.key.task_id, _Part()),
            submissions.setdefault(order.key.submission, _Part()),
        ]
        parts += [tags.setdefault(tag, _Part()) for tag in order.tags]
        done = attempts.get(order.key)
        for part in parts:
            part.planned += 1
            part.task_ids.add(order.key.task_id)
            if done is not None:
                part.attempts.append(done)
    figures = Figures(plan.subject.tasks, whole.attempts)

    def groups(parts: Mapping[str, _Part]) -> dict[str, Group]:
        return {name: _group(figures, parts[name]) for name in sorted(parts)}

    named = Groups(tasks=groups(tasks), submissions=groups(submissions), tags=groups(tags))
    own = kind.figures(plan, attempts, named)
    return Summary(
        **dict(_group(figures, whole)),
        **dict(named),
        **({} if own is None else dict(own)),
        **({} if warned is None else dict(warned.told())),
        kind=record.kind,
        job_id=record.job_id,
        name=record.asked.name,
        dataset_id=record.dataset.dataset_id,
        dataset_version=record.dataset.version,
        status=status,
        parent=None if record.parent is None else record.parent.job_id,
        carried=carried,
        usage={} if calls is None else dict(sorted(calls.usage.items())),
        adapter_isolation=None if calls is None else calls.isolation,
        message=message,
        started_at=record.created_at,
        finished_at=utc_now(),
    )


def _group(figures: Figures, part: _Part) -> Group:
    return figures.group(part.attempts, planned=part.planned, task_ids=sorted(part.task_ids))


def mixed_tasks(attempts: Iterable[Scored]) -> tuple[str, ...]:
    """The tasks whose attempts were scored by different evaluators, gold, limits, images or roles."""
    seen: dict[str, list[ScoringDigests]] = {}
    for one in attempts:
        if one.digests is not None:
            known = seen.setdefault(one.key.task_id, [])
            if one.digests not in known:
                known.append(one.digests)
    return tuple(sorted(task_id for task_id, known in seen.items() if mixed(known)))
