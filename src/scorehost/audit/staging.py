"""What an audit hands in, on disk: `<place>/<name>/<task_id>/…`, and kit.json that says what is what."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.audit.attacks.files import Link
from scorehost.audit.attacks.kit import EMPTY_LABEL, attacks, empty_files
from scorehost.audit.mutants import mutants
from scorehost.audit.subject import subject_of
from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors, make_folder, write_atomic
from scorehost.files.removal import remove_tree
from scorehost.model.audit import HandIn, Kit
from scorehost.model.json import dump
from scorehost.runs.folder import job_ids
from scorehost.runs.reader import JOB_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scorehost.audit.attacks.files import Content
    from scorehost.spec.dataset import Task

KIT = "kit.json"
PLACE = "audits"  # beside the jobs
ORPHAN_SECONDS = 86_400.0  # an audit that is just being planned has no job.json yet


def stage(tasks: Iterable[Task], place: Path, *, with_attacks: bool) -> Kit:
    """Writes every mutant, and the attacks where they are asked for, below the new folder `place`.

    kit.json comes last: a place without one is not whole. The solution, the empty and the shipped wrong
    submissions need no writing. Raises DiskFull.
    """
    found: list[HandIn] = []
    make_folder(place)
    for task in tasks:
        subject = subject_of(task)
        task_id = task.task_id
        empty = empty_files(subject)
        if empty is not None:
            found.append(HandIn(name="empty-file", task_id=task_id, role="attack", label=EMPTY_LABEL))
            _write(place / "empty-file" / task_id, empty.files)
        for number, mutant in enumerate(mutants(subject), start=1):
            name = f"mutant-{number}"
            found.append(
                HandIn(name=name, task_id=task_id, role="mutant", label="a mutant", detail=mutant.detail)
            )
            _write(place / name / task_id, mutant.files)
        if with_attacks:
            for attack in attacks(subject):
                name = f"attack-{attack.name}"
                found.append(HandIn(name=name, task_id=task_id, role="attack", label=attack.label))
                _write(place / name / task_id, attack.files)
    kit = Kit(attacks=with_attacks, hand_ins=tuple(found))
    write_atomic(place / KIT, dump(kit.model_dump(mode="json")))
    return kit


def read_kit(place: Path) -> Kit:
    """The kit that was staged at `place`; UsageError when it is gone or cannot be read."""
    try:
        return Kit.model_validate_json((place / KIT).read_bytes())
    except (OSError, ValidationError):
        raise UsageError(
            f"{place / KIT} cannot be read: what the audit handed in is not known any more.",
            hint="Start a new audit.",
        ) from None


def staged_at(place: Path) -> bool:
    """Whether what was staged is still there."""
    return (place / KIT).is_file()


def remove_staged(place: Path) -> None:
    """Removes what was staged for one audit, and the folder of all such places when it was the last."""
    remove_tree(place)
    with suppress(OSError):
        place.parent.rmdir()


def sweep_staged(out: Path) -> None:
    """Removes places below `out` that are a day old and that no job names: their jobs were deleted.

    While a job cannot be read nothing is removed: it may name any of them.
    """
    try:
        places = [path for path in (out / PLACE).iterdir() if path.is_dir() and not path.is_symlink()]
        old = [path for path in places if time.time() - path.stat().st_mtime > ORPHAN_SECONDS]
        named = {_place_of(out / job_id / JOB_FILE) for job_id in (job_ids(out) if old else ())}
    except (OSError, ValueError, KeyError, TypeError):
        return
    for place in old:
        if place.name not in named:
            remove_staged(place)


def _place_of(record: Path) -> str | None:
    # Not as a JobRecord: to check that of a large job takes long, and another version may have written it.
    staged = json.loads(record.read_bytes())["asked"].get("staged")
    return None if staged is None else Path(staged).name


def _write(folder: Path, files: Mapping[str, Content]) -> None:
    make_folder(folder)
    for path, content in files.items():
        target = folder / path
        make_folder(target.parent)
        if isinstance(content, Link):
            target.symlink_to(content.target)
        else:
            with disk_errors(target.parent, len(content)):
                target.write_bytes(content)
