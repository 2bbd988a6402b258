"""Whether an engine's machine runs an image for another platform: `true` of it is tried, in a closed host."""

from __future__ import annotations

from dataclasses import replace

import anyio

from scorehost.engine.door import Engine, Image
from scorehost.errors import EngineRefused
from scorehost.hosts.blueprint import Blueprint, Users
from scorehost.hosts.labels import host_labels
from scorehost.model.ids import new_job_id
from scorehost.model.limits import Limits

TRY_SECONDS = 60.0  # for `true` of an image for another platform: emulators start slowly
REMOVE_SECONDS = 30.0  # for the removal of the container in which that was tried
_MEMORY_MB = 64


async def runs(engine: Engine, image: Image) -> bool:
    """Whether the engine's machine can run `true` of the image. EngineError, but no refusal."""
    plan = Blueprint("probe", image.id, Limits(memory_mb=_MEMORY_MB), tmpfs_mb=1)
    spec = plan.container(
        image=image,
        users=Users.fresh(),
        labels=host_labels(job=new_job_id(), slot="probe", host=plan.name),
        workspace_bytes=0,
    )
    container = await engine.create(replace(spec, command=("true",)))
    try:
        with anyio.move_on_after(TRY_SECONDS):
            await engine.start(container)
            return (await engine.wait(container)).exit_code == 0
    except EngineRefused:
        return False
    finally:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + REMOVE_SECONDS):
            await engine.remove(container)
    return False
