"""Files of a job's tasks and submissions watched for changes, by looking at them again and again."""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import ScorehostError
from scorehost.scoring.choosing import choose
from scorehost.spec.files import KEY_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scorehost.scoring.asked import ScoreAsked

POLL_SECONDS = 0.5
QUIET_SECONDS = 0.3  # an editor writes a file in several steps: it must have been quiet so long
MOST = 50_000
MAX_LEVELS = 128  # of folders: nothing deeper is ever scored, and walking them takes one call within another
_SKIPPED = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
_SHARED = ("dataset.yaml", "ageval.yaml", "profiles.yaml", "shared", "evaluation", "environment")


@dataclass(frozen=True, slots=True)
class Watched:
    """What bears on a job: where it lies, the folders of its tasks by id, and every file as it was.

    `files` are path -> (time of change in ns, size in bytes). Where the dataset does not load there are no
    `tasks`.
    """

    asked: ScoreAsked
    out: Path
    roots: tuple[Path, ...]
    tasks: Mapping[str, Path]
    files: Mapping[str, tuple[int, int]]

    @property
    def cut(self) -> bool:
        """Whether there may be more files than are watched."""
        return len(self.files) >= MOST


def snapshot(asked: ScoreAsked, out: Path) -> Watched:
    """All files that bear on the job, but those of jobs in `out`, as they are now (plain blocking code).

    Where the dataset does not load, everything in its folder is watched. At most 50,000 files.
    """
    tasks: dict[str, Path] = {}
    try:
        tasks = {task.task_id: task.folder.absolute() for task in choose(asked).tasks}
        roots = [*tasks.values(), *(asked.dataset / name for name in _SHARED)]
    except ScorehostError:
        roots = [asked.dataset]
    roots += _handed_in(asked)
    return Watched(asked, out, tuple(roots), tasks, _state(asked, out, roots))


def wait_for_change(before: Watched, *, sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Blocks until something differs from `before` and is quiet again; the paths that changed, in order."""
    while True:
        sleep(POLL_SECONDS)
        now = _state(before.asked, before.out, before.roots)
        if now == before.files:
            continue
        while True:
            sleep(QUIET_SECONDS)
            later = _state(before.asked, before.out, before.roots)
            if later == now:
                break
            now = later
        changed = sorted(path for path in {*before.files, *now} if before.files.get(path) != now.get(path))
        if changed:
            return changed


def narrowed(before: Watched, changed: Iterable[str]) -> ScoreAsked:
    """What a job is asked of those tasks that changed; of all when anything else changed too."""
    found = set()
    for path in changed:
        own = [task_id for task_id, folder in before.tasks.items() if Path(path).is_relative_to(folder)]
        if not own:
            return before.asked
        found.update(own)
    return dataclasses.replace(before.asked, tasks=tuple(sorted(found)), tags=(), limit=None)


def _state(asked: ScoreAsked, out: Path, roots: Iterable[Path]) -> dict[str, tuple[int, int]]:
    out = out.resolve()
    found: dict[str, tuple[int, int]] = {}
    # Without --task a task that is new belongs to the job too.
    fresh = () if asked.tasks else sorted(asked.dataset.glob("tasks/*/task.yaml"))
    for root in (*roots, *fresh):
        for path in _files(root.absolute(), out):  # so that no file has two names
            try:
                status = path.stat()
            except OSError:
                continue
            found[str(path)] = (status.st_mtime_ns, status.st_size)
            if len(found) == MOST:
                return found
    return found


def _handed_in(asked: ScoreAsked) -> Iterator[Path]:
    for path in (asked.profiles, asked.gold, asked.submissions_dir, asked.predictions):
        if path is not None:
            yield path
    for word in asked.submissions:
        for text in (word, word.partition("=")[2]):
            if text and Path(text).exists():
                yield Path(text)


def _files(root: Path, out: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        if folder.count("/") - str(root).count("/") >= MAX_LEVELS:
            names.clear()
        names[:] = [name for name in names if name not in _SKIPPED and Path(folder, name).resolve() != out]
        yield from (Path(folder, name) for name in files if not name.endswith((".swp", "~", KEY_FILE)))
