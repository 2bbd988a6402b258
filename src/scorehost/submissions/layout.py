"""A submission's folder: where each task's samples lie in it. Links are reported, never followed."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.aio.aside import still_wanted
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scorehost.spec.dataset import Dataset, Task

SAMPLES = "samples"
MAX_SAMPLES = 10_000
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_OWN = frozenset({"submission.yaml", "artifacts", "workspace", SAMPLES})
_SHOWN = 3


def litter(name: str) -> bool:
    """Whether an entry of that name is what a file manager left and no person put there."""
    return name in ("__MACOSX", ".DS_Store") or name.startswith("._")


def samples_of(
    root: Path, tasks: Sequence[Task], dataset: Dataset, name: str, warn: Callable[[str], None]
) -> dict[str, Mapping[int, Sample]]:
    """The samples of each selected task below the real folder `root`.

    `<task_id>/samples/<n>/`, else `<task_id>/`; when one task is selected and has no folder of its own,
    `root` itself takes its place. A task without anything gets one empty sample: leaving out a hard task
    gains nothing.
    """
    direct = len(tasks) == 1 and not os.path.lexists(root / tasks[0].task_id)
    found: dict[str, Mapping[int, Sample]] = {}
    without: list[str] = []
    bare: list[tuple[Task, Path]] = []
    for task in tasks:
        place = root if direct else root / task.task_id
        samples = _samples(place, warn)
        if samples is None:
            without.append(task.task_id)
        found[task.task_id] = samples or {1: Sample()}
        folders = (source.folder for source in found[task.task_id].values())
        bare += [(task, folder) for folder in folders if folder is not None and _is_bare(folder, task)]
    if without:
        strays = sorted(
            entry.name
            for entry in os.scandir(root)
            if entry.name not in _OWN
            and entry.name not in dataset.tasks
            and not litter(entry.name)
            and entry.is_dir(follow_symlinks=False)
        )
        other = f"; {strays[0]!r} in it is no task id" if strays else ""
        warn(
            f"{name} has nothing for {len(without)} of {len(tasks)} tasks, such as {without[0]}: "
            f"they are scored as handed in empty{other}."
        )
    if bare:
        warn(_bare_words(name, bare))
    return found


def _is_bare(folder: Path, task: Task) -> bool:
    """Whether nothing lies at any declared path: more often a slip in the layout than nothing to hand in."""
    paths = [artifact.path for artifact in task.spec.artifacts]
    return bool(paths) and not any(_is_there(folder, path) for path in paths)


def _is_there(folder: Path, path: str) -> bool:
    place = folder
    for step in path.split("/"):
        place /= step
        try:
            mode = os.lstat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True  # taking it in will say what is wrong with it
        if not stat.S_ISDIR(mode):
            return True  # a file; or a link, which is not followed here either
    return True


def _bare_words(name: str, bare: Sequence[tuple[Task, Path]]) -> str:
    task, folder = bare[0]
    paths = [artifact.path for artifact in task.spec.artifacts]
    held = sorted(entry.name for entry in os.scandir(folder) if not litter(entry.name))
    inside = ", ".join(map(repr, held[:_SHOWN])) + (", …" if len(held) > _SHOWN else "")
    return (
        f"{name}: {len(bare)} of its hand-ins have none of the declared artifacts and are scored as empty, "
        f"such as {folder} for {task.task_id}, which has no {' nor '.join(paths[:_SHOWN])}; it holds "
        f"{inside or 'nothing'}."
    )


def _samples(place: Path, warn: Callable[[str], None]) -> dict[int, Sample] | None:
    """The samples at `place`; None when nothing is there.

    Where no number can be read that is a refusal: it must not be scored as if nothing had been handed in.
    """
    kind = _kind(place)
    if kind is None:
        return None
    if kind != "folder":
        return {1: _refused(place, kind)}
    several = place / SAMPLES
    kind = _kind(several)
    if kind is None:
        return {1: Sample(folder=place)}
    if kind != "folder":
        return {1: _refused(several, kind)}
    numbered: dict[int, Sample] = {}
    ignored: list[str] = []
    for entry in os.scandir(several):
        still_wanted()
        if litter(entry.name):
            continue
        if not _NUMBER.fullmatch(entry.name) or int(entry.name) > MAX_SAMPLES:
            ignored.append(entry.name)
            continue
        path = Path(entry.path)
        sort = _kind(path)
        numbered[int(entry.name)] = (
            Sample(folder=path) if sort == "folder" else _refused(path, sort or "gone")
        )
    if ignored and not numbered:
        text = f"{place.name}/{SAMPLES} has no sample: {min(ignored)!r} is no number from 1 to {MAX_SAMPLES}"
        return {1: Sample(refused=f"{text}, written without leading zeros.")}
    if ignored:
        warn(
            f"{several}: {len(ignored)} entries are no sample numbers (1 to {MAX_SAMPLES}) and are ignored, "
            f"such as {min(ignored)!r}."
        )
    return dict(sorted(numbered.items())) or None


def _refused(path: Path, kind: str) -> Sample:
    return Sample(refused=f"{path.parent.name}/{path.name} is {kind}, where a folder is expected.")


def _kind(path: Path) -> str | None:
    """What lies at `path` itself, in words; None when nothing does."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"unreadable ({error.strerror})"
    if stat.S_ISDIR(mode):
        return "folder" if os.access(path, os.R_OK | os.X_OK) else "an unreadable folder"
    return "a link" if stat.S_ISLNK(mode) else "no folder"
