"""An attempt of an earlier job that stands: its files linked into the new job, byte for byte."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors, make_folder
from scorehost.files.removal import remove_tree
from scorehost.model.result import Result
from scorehost.runs.blobs import link_or_copy
from scorehost.runs.draft import draft_of
from scorehost.runs.manifest import MANIFEST_FILE
from scorehost.runs.reader import MANIFEST_BYTES, BadFile, Reader


@dataclass(frozen=True, slots=True)
class Carried:
    """An attempt that was linked. `hashes`: of result.json and manifest.json; `unsettled`: what is not yet
    durable of it.
    """

    result: Result
    hashes: dict[str, str | None]
    unsettled: tuple[str, ...]


def link_attempt(source: Path, target: Path) -> Carried:
    """Shows the attempt in `source` as `target` too. Blocks.

    It appears whole or not at all. Raises DiskFull, and UsageError when it has gone, or is none any more.
    """
    draft = draft_of(target)
    unsettled: list[str] = []
    remove_tree(draft)
    try:
        with disk_errors(target.parent, 4096):
            _link_tree(source, draft, unsettled)
            draft.rename(target)
    except FileNotFoundError as error:
        raise UsageError(
            f"{error.filename} has gone while the job was being made.", hint="Score the parent job again."
        ) from None
    finally:
        with suppress(OSError):
            remove_tree(draft)
    top = os.fspath(draft)
    shown = [os.fspath(target) + path.removeprefix(top) for path in unsettled]
    try:
        with Reader(target) as reader:
            result, digest = reader.result()
            manifest = reader.digest(MANIFEST_FILE, MANIFEST_BYTES)
    except BadFile as error:
        raise UsageError(f"{source} cannot be carried over: {error}.") from None
    return Carried(result, {"result": digest, "manifest": manifest}, (*shown, os.fspath(target.parent)))


def _link_tree(source: Path, target: Path, unsettled: list[str]) -> None:
    waiting = [(source, target)]
    while waiting:
        origin, place = waiting.pop()
        make_folder(place)
        unsettled.append(os.fspath(place))
        with os.scandir(origin) as entries:
            for entry in entries:
                goal = place / entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), goal))
                elif not entry.is_file(follow_symlinks=False):
                    os.link(entry.path, goal, follow_symlinks=False)  # as it is; a rescore refuses it
                elif link_or_copy(Path(entry.path), goal):
                    unsettled.append(os.fspath(goal))
