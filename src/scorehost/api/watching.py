"""Files of a job's tasks and submissions watched for changes, by looking at them again and again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import ScorehostError
from scorehost.jobs.select import selected_tasks
from scorehost.spec.loading import load_dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scorehost.jobs.options import RunOptions

POLL_SECONDS = 0.5
QUIET_SECONDS = 0.3  # an editor writes a file in several steps: it must have been quiet so long
MOST = 50_000
_SKIPPED = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
_SHARED = ("dataset.yaml", "ageval.yaml", "profiles.yaml", "shared", "evaluation", "environment")

Snapshot = dict[str, tuple[int, int]]
"""path -> its time of change (ns) and size (bytes)"""


def snapshot(options: RunOptions) -> Snapshot:
    """All files that bear on the job of `options`, as they are now (plain blocking code).

    Where the dataset does not load, everything in its folder is watched. At most 50,000 files.
    """
    out = options.out.resolve()
    found: Snapshot = {}
    for root in _roots(options):
        for path in _files(root, out):
            try:
                status = path.stat()
            except OSError:
                continue
            found[str(path)] = (status.st_mtime_ns, status.st_size)
            if len(found) == MOST:
                return found
    return found


def wait_for_change(
    options: RunOptions, before: Snapshot, *, sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """Blocks until something differs from `before` and is quiet again; the paths that changed, in order."""
    while True:
        sleep(POLL_SECONDS)
        now = snapshot(options)
        if now == before:
            continue
        while True:
            sleep(QUIET_SECONDS)
            later = snapshot(options)
            if later == now:
                break
            now = later
        changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        if changed:
            return changed


def _roots(options: RunOptions) -> Iterator[Path]:
    root = options.dataset
    try:
        dataset = load_dataset(root, profiles=options.profiles, gold=options.gold)
        folders = [task.folder for task in selected_tasks(options, dataset)]
    except ScorehostError:
        yield root
    else:
        yield from folders
        yield from (root / name for name in _SHARED)
    for path in (options.profiles, options.gold, options.submissions_dir, options.predictions):
        if path is not None:
            yield path
    for word in options.submissions:
        for text in (word, word.partition("=")[2]):
            if text and Path(text).exists():
                yield Path(text)


def _files(root: Path, out: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED and Path(folder, name).resolve() != out]
        yield from (Path(folder, name) for name in files if not name.endswith((".swp", "~")))
