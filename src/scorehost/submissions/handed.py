"""What lies at a path made a submission: a folder, an archive of one, or the one file of a task."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.files.names import on_one_line, unescaped
from scorehost.files.removal import remove_tree
from scorehost.model.spelling import near
from scorehost.runs.record import SubmissionRecord
from scorehost.submissions.archives import (
    READ,
    REPACK,
    Unpacked,
    archive_suffix,
    unpack,
    unread_suffix,
)
from scorehost.submissions.cards import read_card
from scorehost.submissions.digests import file_digest
from scorehost.submissions.entries import BadArchive, Caps
from scorehost.submissions.layout import Root, samples_of
from scorehost.submissions.naming import EMPTY, RUN, SOLUTION, WRONG, storable
from scorehost.submissions.sample import Sample
from scorehost.submissions.spellings import the_one
from scorehost.submissions.submission import Search, Submission
from scorehost.submissions.wanted import CARD, SAMPLES, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.spec.dataset import Task
    from scorehost.spec.task import Artifact


def from_path(name: str, path: Path, search: Search, *, label: str | None = None) -> Submission:
    """The submission at `path`, called `name`. UsageError when nothing can be handed in from there."""
    path = as_given(path)
    try:
        status = path.stat()
    except OSError as error:
        able = [RUN] if any(task.run_script is not None for task in search.tasks) else []
        wrong = [f"{WRONG}{name}" for task in search.tasks for name in task.wrong]
        raise UsageError(
            f"--submission {on_one_line(str(path))}: {error.strerror}.",
            hint=f"It may be a folder, an archive, {SOLUTION}, {EMPTY} or {WRONG}NAME. "
            + near(str(path), [SOLUTION, EMPTY, *able, *wrong]),
        ) from None
    real = path.resolve()
    if stat.S_ISDIR(status.st_mode):
        return _from_folder(name, real, search, label)
    if stat.S_ISREG(status.st_mode) and archive_suffix(path.name):
        return _from_archive(name, real, search, label)
    if stat.S_ISREG(status.st_mode) and unread_suffix(path.name):
        raise UsageError(
            f"--submission {on_one_line(str(path))}: a {unread_suffix(path.name)} archive is not read.",
            hint=f"Hand in a folder, or {REPACK}.",
        )
    if stat.S_ISREG(status.st_mode) and (artifact := artifact_of(path.name, search.tasks)) is not None:
        return _from_file(name, real, search, label, artifact)
    raise UsageError(
        f"--submission {on_one_line(str(path))} is neither a folder nor an archive ({READ}).",
        hint="Hand in a folder that holds <task_id>/<artifact path>, or, for one task, <artifact path>. "
        "A task that asks for one file takes that file itself.",
    )


def as_given(path: Path) -> Path:
    """The path that a job keeps as `stored_path`: as it is, or (when nothing is there) with its bytes."""
    if os.path.lexists(path):
        return path
    raw = Path(unescaped(str(path)))
    return raw if os.path.lexists(raw) else path


def stored_path(path: Path) -> str:
    """A path as job.json can hold it, where names need not be UTF-8."""
    return storable(str(path))


def artifact_of(file_name: str, tasks: Sequence[Task]) -> Artifact | None:
    """The artifact that one file can only be: of the only task, and the only one or the one of that name."""
    if len(tasks) != 1:
        return None
    files = [artifact for artifact in tasks[0].spec.artifacts if artifact.kind == "file"]
    same = [artifact for artifact in files if PurePath(artifact.path).name == file_name]
    same = same or [one for one in files if the_one([file_name], PurePath(one.path).name)]
    if len(same) == 1:
        return same[0]
    return files[0] if len(files) == 1 and len(tasks[0].spec.artifacts) == 1 else None


def _from_folder(name: str, real: Path, search: Search, label: str | None) -> Submission:
    root = _unwrapped(Root(real, str(real)), search)
    if root.folder != real:
        search.warn(
            f"{name}: nothing declared is in {on_one_line(str(real))} itself; the only folder in it, "
            f"{on_one_line(root.folder.name)}, is taken for it."
        )
    card = read_card(root, search.warn)
    record = SubmissionRecord(name=name, kind="folder", path=stored_path(real), card=card, label=label)
    return Submission(record, samples_of(root, search.tasks, search.dataset, name, search.warn))


def _from_file(name: str, real: Path, search: Search, label: str | None, artifact: Artifact) -> Submission:
    task = search.tasks[0]
    if PurePath(artifact.path).name != real.name:
        search.warn(f"{name}: {on_one_line(real.name)} is taken for {artifact.path} of {task.task_id}.")
    record = SubmissionRecord(name=name, kind="file", path=stored_path(real), label=label)
    return Submission(record, {task.task_id: {1: Sample(paths={artifact.id: real})}})


def _from_archive(name: str, path: Path, search: Search, label: str | None) -> Submission:
    target = search.staging / name
    record = SubmissionRecord(
        name=name, kind="archive", path=stored_path(path), digest=file_digest(path), label=label
    )
    shown = on_one_line(path.name)
    artifacts = [artifact for task in search.tasks for artifact in task.spec.artifacts]
    wanted = Wanted(artifacts, (task.task_id for task in search.tasks))
    try:
        unpacked = unpack(path, target, Caps(one=wanted.largest), wanted)
    except BadArchive as bad:
        remove_tree(target)
        reason = f"The archive {shown} is refused: {bad}."
        search.warn(f"{name}: {reason}")
        return Submission(record, {task.task_id: {1: Sample(refused=reason)} for task in search.tasks})
    return _from_unpacked(record, unpacked, Root(target, shown, unpacked.odd), search)


def _from_unpacked(record: SubmissionRecord, unpacked: Unpacked, top: Root, search: Search) -> Submission:
    for text in unpacked.warnings:
        search.warn(f"{record.name}: {top.shown}: {text}.")
    root = _unwrapped(top, search)
    record = record.model_copy(update={"card": read_card(root, search.warn)})
    return Submission(record, samples_of(root, search.tasks, search.dataset, record.name, search.warn))


def _unwrapped(root: Root, search: Search) -> Root:
    """`root`, or the only folder in it when that is a mere wrapping (as `tar czf x.tar.gz x` makes it)."""
    names = root.names()
    own = {CARD, SAMPLES, "artifacts", "workspace", *search.dataset.tasks}
    for task in search.tasks:
        for artifact in task.spec.artifacts:
            own.update(artifact.path.split("/"))
    if len(names) != 1 or names[0] in own:
        return root
    inner = root.below(names[0])
    if inner.folder.is_symlink() or not inner.folder.is_dir():
        return root
    return inner if own & set(inner.names()) else root
