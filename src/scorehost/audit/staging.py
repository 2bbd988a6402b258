"""What an audit hands in, on disk: `<place>/<name>/<task_id>/…`, and kit.json that says what is what."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.audit.attacks.files import Link
from scorehost.audit.attacks.kit import EMPTY_LABEL, attacks, empty_files
from scorehost.audit.mutants import mutants
from scorehost.audit.subject import subject_of
from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors, make_folder, write_atomic
from scorehost.files.below import Unread, read_below
from scorehost.files.removal import remove_tree
from scorehost.model.audit import Kit, MadeUp
from scorehost.model.ids import new_job_id
from scorehost.model.json import dump
from scorehost.runs.claim import LOCK_FILE, abandoned, made_folder
from scorehost.runs.folder import job_ids
from scorehost.runs.reader import JOB_FILE, RECORD_BYTES, BadFile, Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scorehost.audit.attacks.files import Content
    from scorehost.spec.dataset import Task

KIT = "kit.json"
PLACE = "audits"  # beside the jobs
_SECOND = len("20261201-012500")  # of an id; what follows is random
ORPHAN_SECONDS = 86_400.0  # for places without a claim, as earlier versions made them


def stage(tasks: Iterable[Task], place: Path, *, with_attacks: bool) -> Kit:
    """Writes every mutant, and the attacks where they are asked for, below the folder `place`.

    kit.json comes last: a place without one is not whole. The solution, the empty and the shipped wrong
    submissions need no writing. Raises DiskFull.
    """
    found: list[MadeUp] = []
    make_folder(place)
    for task in tasks:
        subject = subject_of(task)
        task_id = task.task_id
        empty = empty_files(subject)
        if empty is not None:
            found.append(MadeUp(name="empty-file", task_id=task_id, role="attack", label=EMPTY_LABEL))
            _write(place / "empty-file" / task_id, empty.files)
        for number, mutant in enumerate(mutants(subject), start=1):
            name = f"mutant-{number}"
            found.append(
                MadeUp(name=name, task_id=task_id, role="mutant", label="a mutant", detail=mutant.detail)
            )
            _write(place / name / task_id, mutant.files)
        if with_attacks:
            for attack in attacks(subject):
                name = f"attack-{attack.name}"
                found.append(MadeUp(name=name, task_id=task_id, role="attack", label=attack.label))
                _write(place / name / task_id, attack.files)
    kit = Kit(attacks=with_attacks, hand_ins=tuple(found))
    write_atomic(place / KIT, dump(kit.model_dump(mode="json")))
    return kit


def read_kit(place: Path) -> Kit:
    """The kit that was staged at `place`; UsageError when it is gone or cannot be read."""
    try:
        return Kit.model_validate_json(read_below(place, KIT, RECORD_BYTES))
    except (Unread, ValidationError):
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


@contextmanager
def staging_place(out: Path) -> Iterator[Path]:
    """A new place in `out` for one audit, claimed; it goes at the end when no job of `out` names it."""
    top = out.absolute() / PLACE

    def named(place: Path) -> bool:
        if not place.exists():
            return True  # its audit is done with it, and took it away
        # The audit's job is made later than its place, and ids begin with the second.
        since = place.name[:_SECOND]
        later = (job_id for job_id in job_ids(out) if job_id[:_SECOND] >= since)
        return any(_place_of(out / job_id) == place.name for job_id in later)

    with made_folder(top, new_job_id(), "audit", keep=named) as place:
        try:
            yield place
        finally:
            with suppress(OSError):
                top.rmdir()


def sweep_staged(out: Path) -> None:
    """Removes places below `out` that nobody has and no job names: their audits never began, or were deleted.

    While a job cannot be read nothing is removed: it may name any of them.
    """
    try:
        places = [path for path in (out / PLACE).iterdir() if path.is_dir() and not path.is_symlink()]
        named = {_place_of(out / job_id) for job_id in (job_ids(out) if places else ())}
    except (OSError, BadFile):
        return
    for place in places:
        if place.name not in named:
            with suppress(OSError, UsageError):
                _remove_abandoned(place)


def _remove_abandoned(place: Path) -> None:
    if not (place / LOCK_FILE).exists() and time.time() - place.stat().st_mtime < ORPHAN_SECONDS:
        return  # of a version that took no claim: it may be planning yet
    with abandoned(place) as dead:
        if dead:
            remove_staged(place)


def _place_of(job: Path) -> str | None:
    # Not as a JobRecord: to check that of a large job takes long, and another version may have written it.
    try:
        with Reader(job) as reader:
            staged = json.loads(reader.data(JOB_FILE, RECORD_BYTES))["asked"].get("staged")
    except BadFile as error:
        if error.missing:
            return None
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadFile(f"{JOB_FILE} does not parse") from None
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
