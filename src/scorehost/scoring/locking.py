"""scorehost.lock written, read, and held against what is there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.files.atomic import write_atomic
from scorehost.model.json import BadJson, dump, parse
from scorehost.model.lock import Lock, TaskPin
from scorehost.scoring.subject import task_record
from scorehost.spec.gold_key import OTHER_KEY, gold_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scorehost.attempt.pins import Pins
    from scorehost.spec.dataset import Dataset, Task
    from scorehost.spec.gold_key import GoldKey

LOCK = "scorehost.lock"
MODE = 0o644  # it belongs beside the dataset's other files, for everybody
_ROOM = 64 * 1024 * 1024
_NAMED = 8
_FIRST = "scorehost.lock/1"
_PARTS = {
    "spec": "task.yaml or dataset.yaml",
    "code": "evaluator.py, lib/ or shared/",
    "gold": "gold",
    "run": "run.py or data/",
}


def lock_of(dataset: Dataset, tasks: Iterable[Task], pins: Pins) -> Lock:
    """The lock that pins these tasks; UsageError where an image is not there to be pinned."""
    if pins.missing:
        raise UsageError(
            f"Not on the engine, so they cannot be pinned: {', '.join(pins.missing[:_NAMED])}.",
            hint="Pull them, or run `make images` for those of scorehost.",
        )
    key = gold_key(dataset)
    return Lock(
        dataset_id=dataset.dataset_id,
        version=dataset.version,
        gold_key=key.id,
        images=dict(sorted(pins.images.items())),
        tasks={task.task_id: _pin(task, pins, key) for task in tasks},
    )


def _pin(task: Task, pins: Pins, key: GoldKey, *, first: bool = False) -> TaskPin:
    digests = task_record(task, key, first=first).digests
    recipes = dict(sorted(pins.recipes.get(task.task_id, {}).items()))
    return TaskPin(**digests, recipes=recipes)


def write_lock(root: Path, lock: Lock) -> Path:
    """Writes scorehost.lock into the dataset's folder and gives its path."""
    path = root / LOCK
    write_atomic(path, dump(lock.model_dump(mode="json")), mode=MODE)
    return path


def read_lock(root: Path) -> Lock:
    """The dataset's lock, also of format `/1`; UsageError when there is none or it cannot be read."""
    path = root / LOCK
    try:
        held = parse(path.read_bytes(), max_bytes=_ROOM)
        if isinstance(held, dict) and held.get("format") == _FIRST:
            held |= {"format": "scorehost.lock/2", "gold_key": None}
        return Lock.model_validate(held, strict=False)
    except FileNotFoundError:
        raise UsageError(
            f"--locked: there is no {path}.", hint="Write one with `scorehost check --lock`."
        ) from None
    except (OSError, BadJson, ValidationError):
        raise UsageError(
            f"{path} cannot be read.", hint="Write it anew with `scorehost check --lock`."
        ) from None


def check_locked(lock: Lock, dataset: Dataset, tasks: Mapping[str, Task], pins: Pins) -> None:
    """Raises UsageError that names everything of the chosen tasks that is not as the lock says."""
    found = []
    if (dataset.dataset_id, dataset.version) != (lock.dataset_id, lock.version):
        locked_as = f"{lock.dataset_id} {lock.version}"
        found.append(f"the dataset is {dataset.dataset_id} {dataset.version}, locked is {locked_as}")
    key = gold_key(dataset)
    told = [part for part in _PARTS if part != "gold" or lock.gold_key in (None, key.id)]
    if "gold" not in told:
        found.append(OTHER_KEY)
    for task_id, task in tasks.items():
        was = lock.tasks.get(task_id)
        if was is None:
            found.append(f"{task_id} is not in the lock")
            continue
        now = _pin(task, pins, key, first=lock.gold_key is None)
        found += [
            f"{task_id}: {_PARTS[part]} changed" for part in told if getattr(was, part) != getattr(now, part)
        ]
        hosts = sorted({*was.recipes, *now.recipes})
        found += [
            f"{task_id}: the recipe of host {host}, or its base, changed"
            for host in hosts
            if was.recipes.get(host) != now.recipes.get(host) and not pins.missing
        ]
    found += [f"image {name} is not on the engine" for name in pins.missing]
    for name, pin in pins.images.items():
        locked = lock.images.get(name)
        if locked is None:
            found.append(f"image {name} is not in the lock")
        elif locked.id != pin.id:
            found.append(f"image {name} is {pin.id[:19]}, locked is {locked.id[:19]}")
    if found:
        more = f"\n  and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise UsageError(
            "--locked: not as scorehost.lock says:" + "".join(f"\n  {one}" for one in found[:_NAMED]) + more,
            hint="Put it back, or pin what is there with `scorehost check --lock`.",
        )
