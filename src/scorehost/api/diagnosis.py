"""The engine from where a user stands: what is there, what is missing, what dead jobs left."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from scorehost.adapters.abandoned import abandoned_calls, remove_abandoned
from scorehost.aio.threads import in_thread
from scorehost.attempt.fitting import limits_of
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineError, InputError, NotFound
from scorehost.files.lease import Lease, Standing
from scorehost.hosts import labels
from scorehost.hosts.admission import SHARE
from scorehost.hosts.blueprint import FIRST_MAPPED, LAST_MAPPED
from scorehost.hosts.clean import CleanReport, built_images, clean_images
from scorehost.hosts.clean import clean as clean_engine
from scorehost.hosts.images import BUILT
from scorehost.model.finding import Finding
from scorehost.model.limits import MIB, Limits
from scorehost.spec.profiles import EvaluateHost

if TYPE_CHECKING:
    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.engine.opener import OpenEngine

GIB = 1024 * MIB
LOW_DISK = 2 * GIB
_NAMED = 3  # folders that a finding names


async def doctor(host: str | None = None, *, engine: OpenEngine = open_engine) -> list[Finding]:
    """What a person should know before a job; an engine that does not answer is a finding too."""
    found = [_disk(Path())]
    try:
        async with engine(host) as opened:
            info = await opened.info()
            found += _engine(info)
            found += limits_of(info)
            found.append(await _base_image(opened))
            found += await _leftovers(opened)
            found += await _calls_left()
            found += await _built(opened)
    except (EngineError, InputError) as error:
        found.append(Finding("problem", error.message, error.hint))
    return found


async def clean(
    host: str | None = None,
    *,
    job: str | None = None,
    older_than: float = 0.0,
    force: bool = False,
    kept: bool = False,
    images: bool = False,
    engine: OpenEngine = open_engine,
) -> CleanReport:
    """Removes what dead jobs left (`older_than` in seconds); with `kept` only hosts kept for a look, with
    `images` only images that were built from recipes and that nobody uses.

    Those stay otherwise, unless `job` is theirs. What calls of agents left on this machine (processes and
    their folders) goes too, where nothing narrows it down. EngineError when the engine cannot be asked.
    """
    async with engine(host) as opened:
        await opened.info()  # the call whose errors say what to mend
        if images:
            return await clean_images(opened, older_than=older_than)
        report = await clean_engine(opened, job=job, older_than=older_than, force=force, kept=kept)
    if job is not None or kept or older_than:
        return report  # what is left of a call names no job
    calls = await in_thread(remove_abandoned, anyio.CapacityLimiter(1))
    return replace(report, calls=calls)


def _engine(info: EngineInfo) -> list[Finding]:
    room = int(info.memory_bytes * SHARE) // (Limits().memory_mb * MIB)
    text = f"memory {info.memory_bytes / GIB:.1f} GiB, {info.cpus} cores"
    memory = (
        Finding("ok", f"{text}: room for {room} hosts of the default {Limits().memory_mb} MiB")
        if room
        else Finding(
            "warning",
            f"{text}: less than one host of the default {Limits().memory_mb} MiB",
            "Set limits.memory_mb of your tasks lower, or give the engine more memory.",
        )
    )
    return [
        Finding("ok", f"engine {info.version} at {info.endpoint}, API {info.api_version}"),
        Finding("ok", f"{info.operating_system}, kernel {info.kernel}, {info.architecture}"),
        Finding(
            "ok",
            f"cgroup version {info.cgroup_version}, runtimes {', '.join(info.runtimes)} "
            f"(default {info.default_runtime})",
        ),
        memory,
        *_users(info),
    ]


def _users(info: EngineInfo) -> list[Finding]:
    if not info.maps_users:
        return []
    how = "rootless" if "rootless" in info.security else "userns-remap"
    text = f"users of containers are mapped ({how}): hosts get users from {FIRST_MAPPED} to {LAST_MAPPED}"
    return [Finding("ok", text)]


async def _base_image(engine: Engine) -> Finding:
    reference = EvaluateHost().docker_image
    try:
        image = await engine.image(reference)
    except NotFound:
        return Finding(
            "problem",
            f"the default evaluator image {reference} is not on this engine",
            "Run `make images` once.",
        )
    return Finding("ok", f"image {reference} is {image.id[:19]}, {image.architecture}")


async def _built(engine: Engine) -> list[Finding]:
    images = await built_images(engine)
    if not images:
        return []
    size = sum({image.id: image.size for image in images}.values())
    number = f"{len(images)} images" if len(images) > 1 else "1 image"
    text = f"{number} built from recipes ({BUILT}), {size / GIB:.1f} GiB with the layers that they share"
    return [Finding("ok", text, "`scorehost clean --images` removes them; a job builds again what it needs.")]


async def _leftovers(engine: Engine) -> list[Finding]:
    wanted = {labels.JOB: None}
    dead: Counter[str] = Counter()
    alive: set[str] = set()
    kept: list[Finding] = []
    for item in [*await engine.list_containers(wanted), *await engine.list_volumes(wanted)]:
        lease = Lease.parse(item.labels.get(labels.OWNER, ""))
        job = item.labels.get(labels.JOB, "")
        if labels.KEPT in item.labels:
            if item.kind == "container":
                place = f"{item.labels.get(labels.SLOT, '')}, host {item.labels.get(labels.HOST, '')}"
                kept.append(Finding("ok", f"kept for a look: {item.name} ({job}, {place})"))
        elif lease is not None and lease.standing() is Standing.ALIVE:
            alive.add(job)
        else:
            dead[job] += 1
    if kept:
        kept[-1] = replace(kept[-1], hint="`scorehost clean --kept` removes what was kept.")
    if dead:
        jobs = ", ".join(f"{job} ({number})" for job, number in sorted(dead.items()))
        text = f"left by jobs that do not run here: {jobs}"
        return [Finding("warning", text, "Run `scorehost clean`."), *kept]
    running = f"; running now: {', '.join(sorted(alive))}" if alive else ""
    return [Finding("ok", f"nothing left by dead jobs{running}"), *kept]


async def _calls_left() -> list[Finding]:
    left = await in_thread(abandoned_calls, anyio.CapacityLimiter(1))
    if not left:
        return []
    text = f"left by calls of agents of jobs that were killed: {', '.join(map(str, left[:_NAMED]))}"
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return [Finding("warning", text + more, "Run `scorehost clean`; the next job does it too.")]


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{free / GIB:.1f} GiB free for jobs in {folder.resolve()}"
    if free >= LOW_DISK:
        return Finding("ok", text)
    return Finding("warning", text, "Free some space, or send jobs elsewhere with --out.")
