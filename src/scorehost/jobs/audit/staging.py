"""What an audit hands in, on disk: `<place>/<name>/<task_id>/…`, and kit.json that says what is what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.attempt.atomic import disk_errors, make_folder, write_atomic
from scorehost.errors import UsageError
from scorehost.jobs.audit.attacks.files import Link
from scorehost.jobs.audit.attacks.kit import EMPTY_LABEL, attacks, empty_files
from scorehost.jobs.audit.mutants import mutants
from scorehost.jobs.audit.subject import subject_of
from scorehost.model.audit import HandIn, Kit
from scorehost.model.json import dump

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scorehost.jobs.audit.attacks.files import Content
    from scorehost.spec.dataset import Task

KIT = "kit.json"
PLACE = "audits"  # beside the jobs


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
