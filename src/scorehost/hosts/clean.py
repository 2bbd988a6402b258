"""Removes from the engine what dead jobs left, and never what belongs to a job that may be alive."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from scorehost.engine.door import Engine, Listed
from scorehost.errors import Conflict, EngineRefused
from scorehost.files.lease import Lease, Standing
from scorehost.hosts import labels
from scorehost.hosts.images import BUILT


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


async def clean_images(engine: Engine, *, older_than: float = 0.0) -> CleanReport:
    """Removes images that were built from recipes, except those that a container is made of.

    A job that runs may be about to use any of them: then all are left. Raises EngineError when the engine
    cannot be asked.
    """
    alive = await running_jobs(engine)
    removed: list[Listed] = []
    left: list[tuple[Listed, str]] = []
    now = time.time()
    for image in await built_images(engine):
        if alive:
            left.append((image, f"a job runs and may use it: {', '.join(alive)}"))
        elif older_than and now - image.created < older_than:
            left.append((image, "younger than asked"))
        else:
            try:
                await engine.remove_image(image.name)
            except EngineRefused as error:
                left.append((image, error.message))
            else:
                removed.append(image)
    return CleanReport(tuple(removed), tuple(left))


async def built_images(engine: Engine) -> list[Listed]:
    """Images that scorehost built from recipes; not what was only derived from one under another name."""
    rows = await engine.list_images({labels.RECIPE: None})
    return [row for row in rows if row.name.startswith(f"{BUILT}:")]


async def running_jobs(engine: Engine) -> list[str]:
    """Ids of the jobs that may be alive: by the leases on what they have on the engine."""
    found = set()
    for item in [
        *await engine.list_containers({labels.JOB: None}),
        *await engine.list_volumes({labels.JOB: None}),
    ]:
        if labels.KEPT not in item.labels and _reason_to_leave(item, force=False):
            found.add(item.labels.get(labels.JOB, ""))
    return sorted(found)


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
