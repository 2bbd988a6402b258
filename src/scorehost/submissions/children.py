"""`--submissions DIR`: each thing in a folder that can be a submission, and by name each that cannot."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.files.names import on_one_line
from scorehost.submissions.archives import READ, REPACK, archive_suffix, unread_suffix
from scorehost.submissions.handed import artifact_of, from_path
from scorehost.submissions.locating import litter
from scorehost.submissions.naming import free

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scorehost.spec.dataset import Task
    from scorehost.submissions.submission import Search, Submission

_NAMED = 20  # of what is not taken; the others are counted


def stem(name: str) -> str:
    """A file's name without the suffix that makes it an archive."""
    suffix = archive_suffix(name)
    return name[: -len(suffix)] if suffix else name


def from_children(folder: Path, search: Search) -> Iterator[Submission]:
    """A submission for each folder, archive and (for a task of one file) file in `folder`, in order of names.

    What is not taken is named in warnings, with why. UsageError when nothing is, or `folder` cannot be read.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"--submissions {folder}: {error.strerror}.") from None
    taken: set[str] = set()
    passed_over: list[str] = []
    for entry in entries:
        if litter(entry.name):
            continue
        if why := _why_not(entry, search.tasks):
            passed_over.append(f"{on_one_line(entry.name)} {why}")
            continue
        given = stem(entry.name) if entry.is_file() else entry.name
        if entry.is_file() and not archive_suffix(entry.name):
            given = PurePath(entry.name).stem
        name, label = free(given, entry.name, taken)
        taken.add(name.lower())
        if label is not None:
            search.warn(
                f"{on_one_line(entry.name)} is named {name}: its own name is taken or no path can hold it."
            )
        yield from_path(name, Path(entry.path), search, label=label)
    for text in passed_over[:_NAMED]:
        search.warn(f"--submissions {folder}: {text}.")
    if len(passed_over) > _NAMED:
        search.warn(f"--submissions {folder}: {len(passed_over) - _NAMED} more entries are not taken.")
    if not taken:
        what = f" ({passed_over[0]})" if passed_over else ""
        raise UsageError(
            f"--submissions {folder} holds nothing that can be handed in{what}.",
            hint=f"Each folder in it is a submission, and each archive: {READ}.",
        )


def _why_not(entry: os.DirEntry[str], tasks: Sequence[Task]) -> str:
    """Why an entry is no submission; "" when it is one."""
    if entry.name.startswith("."):
        return "is hidden and is not taken"
    if entry.is_symlink():
        return "is a link, which is not followed; name its target with --submission"
    if entry.is_dir():
        return ""
    return _why_not_file(entry.name, tasks) if entry.is_file() else "is neither a folder nor a file"


def _why_not_file(name: str, tasks: Sequence[Task]) -> str:
    if archive_suffix(name):
        return ""
    if unread_suffix(name):
        return f"is an archive that is not read; {REPACK}"
    artifact = artifact_of(name, tasks)
    if artifact is None:
        return "is a file, and is neither a folder nor an archive"
    ending = PurePath(artifact.path).suffix.lower()
    if PurePath(name).suffix.lower() == ending:
        return ""
    return f"is not taken for {artifact.path}, which ends in {ending or 'nothing'}"
