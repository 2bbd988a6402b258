"""Removes from the engine what dead jobs left, and never what belongs to a job that may be alive."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from scorehost.engine.door import Engine, Listed
from scorehost.errors import Conflict, EngineRefused
from scorehost.files.lease import Lease, Standing
from scorehost.hosts import labels


@dataclass(frozen=True, slots=True)
class CleanReport:
    """What was removed, and what was left with the reason why. `calls`: of agents, which killed jobs left."""

    removed: tuple[Listed, ...] = ()
    left: tuple[tuple[Listed, str], ...] = field(default=())
    calls: int = 0


async def clean(
    engine: Engine,
    *,
    job: str | None = None,
    older_than: float = 0.0,
    force: bool = False,
    kept: bool = False,
) -> CleanReport:
    """Removes containers and volumes of dead jobs; with `kept` only those that were kept for a look.

    What was kept is left alone unless `kept` or its `job` is asked for.

    `job` narrows to one job, `older_than` (seconds) spares what is younger. `force`, only with `job`,
    also removes what belongs to another machine or to a living process. Raises EngineError when the engine
    cannot be asked; a single object that it will not give up is reported in `left`.
    """
    wanted: Mapping[str, str | None] = {labels.JOB: job, **({labels.KEPT: None} if kept else {})}
    removed: list[Listed] = []
    left: list[tuple[Listed, str]] = []
    now = time.time()
    for item in [*await engine.list_containers(wanted), *await engine.list_volumes(wanted)]:
        reason = _reason_to_leave(item, force=force and job is not None)
        if not reason and labels.KEPT in item.labels and not kept and job is None:
            reason = "kept for a look; use --kept, or --job ID"
        if not reason and older_than and now - item.created < older_than:
            reason = "younger than asked"
        if reason:
            left.append((item, reason))
            continue
        try:
            await (engine.remove if item.kind == "container" else engine.remove_volume)(
                item.id if item.kind == "container" else item.name
            )
        except (Conflict, EngineRefused) as error:
            left.append((item, error.message))
        else:
            removed.append(item)
    return CleanReport(tuple(removed), tuple(left))


async def clean_job(engine: Engine, job: str) -> list[str]:
    """Removes what is left of this process's own job at its end, except what it keeps for a look.

    Gives the names of what could not be removed.
    """
    wanted: Mapping[str, str | None] = {labels.JOB: job}
    lost: list[str] = []
    for container in await engine.list_containers(wanted):
        if labels.KEPT in container.labels:
            continue
        try:
            await engine.remove(container.id)
        except EngineRefused:
            lost.append(container.name)
    for volume in await engine.list_volumes(wanted):
        if labels.KEPT in volume.labels:
            continue
        try:
            await engine.remove_volume(volume.name)
        except EngineRefused:
            lost.append(volume.name)
    return lost


def _reason_to_leave(item: Listed, *, force: bool) -> str:
    if force:
        return ""
    lease = Lease.parse(item.labels.get(labels.OWNER, ""))
    if lease is None:
        return "has no lease that can be read; use --force --job ID"
    standing = lease.standing()
    if standing is Standing.ALIVE:
        return f"its job runs in process {lease.pid}"
    if standing is Standing.FOREIGN:
        return "belongs to another machine or pid namespace; use --force --job ID"
    return ""
