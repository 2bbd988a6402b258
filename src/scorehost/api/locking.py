"""A dataset pinned to the images and files that it has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.attempt.pins import pins_now, references
from scorehost.engine.opening import open_engine
from scorehost.hosts.images import OWN_PREFIX
from scorehost.scoring.locking import lock_of, write_lock
from scorehost.spec.loading import load_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.engine.opener import OpenEngine


async def lock(
    dataset: Path,
    *,
    profiles: Path | None = None,
    gold: Path | None = None,
    engine: OpenEngine = open_engine,
) -> Path:
    """Writes scorehost.lock into `dataset` for all its tasks, and gives its path.

    Every image must be on the engine. Raises InputError and EngineError.
    """
    found = load_dataset(dataset, profiles=profiles, gold=gold)
    tasks = list(found.tasks.values())
    async with engine(found.profiles.engine.host) as opened:
        await opened.info()  # the call whose errors say what to mend
        pins = await pins_now(opened, tasks, found.profiles)
    return write_lock(found.root, lock_of(found, tasks, pins))


def moving_tags(dataset: Path, *, profiles: Path | None = None) -> list[str]:
    """References that may mean another image tomorrow: without a digest. Those of scorehost's own are built
    on each machine and left out. Raises SpecError.
    """
    found = load_dataset(dataset, profiles=profiles)
    names = references(found.tasks.values(), found.profiles)
    return [name for name in names if "@sha256:" not in name and not name.startswith(OWN_PREFIX)]
