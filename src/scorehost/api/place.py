"""Where things are: the dataset around a task's folder, and the engine that the current folder asks for."""

from __future__ import annotations

from pathlib import Path

from scorehost.errors import ScorehostError, UsageError
from scorehost.spec.loading import load_dataset

MANIFESTS = ("dataset.yaml", "ageval.yaml")
_DEPTH = 6  # tasks.root may lie a few folders down


def is_dataset(folder: Path) -> bool:
    """Whether a dataset starts in this folder."""
    return any((folder / name).is_file() for name in MANIFESTS)


def dataset_root(task_dir: Path) -> Path:
    """The dataset that `task_dir` belongs to; UsageError when no folder above it is one."""
    folder = task_dir.resolve()
    for above in list(folder.parents)[:_DEPTH]:
        if is_dataset(above):
            return above
    if is_dataset(folder):
        raise UsageError(
            f"{task_dir} is a dataset, not a task's folder.",
            hint=f"Name one of its tasks: {task_dir}/tasks/…",
        )
    raise UsageError(
        f"{task_dir} lies in no dataset: no folder above it has a dataset.yaml.",
        hint="`scorehost init DIR` writes a dataset to start from.",
    )


def engine_host(folder: Path = Path()) -> str | None:
    """The engine that the profiles of the dataset in `folder` name; None where there is no (sound) dataset.

    `doctor` and `clean` use it: they must work beside a broken dataset too.
    """
    if not is_dataset(folder):
        return None
    try:
        return load_dataset(folder, only=()).profiles.engine.host
    except ScorehostError:
        return None
