"""A submission's folder: where each task's samples lie in it. Links are reported, never followed."""

from __future__ import annotations

import difflib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.aio.aside import still_wanted
from scorehost.files.below import kind_of
from scorehost.submissions.locating import litter, located, similar
from scorehost.submissions.odd import Odd
from scorehost.submissions.sample import Sample
from scorehost.submissions.wanted import CARD, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scorehost.spec.dataset import Dataset, Task

MAX_SAMPLES = 10_000
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_OWN = frozenset({CARD, "artifacts", "workspace", SAMPLES})
_SHOWN = 3
_SIMILAR = 0.6  # of a folder's name and a task's id, for a suggestion


@dataclass(frozen=True, slots=True)
class Root:
    """A submission's real folder, how messages call it, and what else its archive had."""

    folder: Path
    shown: str
    odd: Odd = field(default_factory=Odd)

    def below(self, name: str) -> Root:
        """The folder `name` in it."""
        return Root(self.folder / name, f"{self.shown}/{name}", self.odd.at(name))

    def names(self) -> list[str]:
        """What lies in it, in order; nothing where there is no such folder."""
        try:
            found = {entry.name for entry in os.scandir(self.folder)}
        except OSError:
            found = set()
        return sorted(name for name in found | set(self.odd.below) if not litter(name))


def samples_of(
    root: Root, tasks: Sequence[Task], dataset: Dataset, name: str, warn: Callable[[str], None]
) -> dict[str, Mapping[int, Sample]]:
    """The samples of each selected task below `root`.

    `<task_id>/samples/<n>/`, else `<task_id>/`; when one task is selected and has no folder of its own,
    `root` itself takes its place. A task without anything gets one empty sample: leaving out a hard task
    gains nothing.
    """
    direct = len(tasks) == 1 and _kind(root.below(tasks[0].task_id)) is None
    found: dict[str, Mapping[int, Sample]] = {}
    without: list[str] = []
    bare: list[tuple[Task, Sample]] = []
    for task in tasks:
        samples = _samples(root if direct else root.below(task.task_id), warn)
        if samples is None:
            without.append(task.task_id)
        found[task.task_id] = samples or {1: Sample()}
        bare += [(task, one) for one in found[task.task_id].values() if _is_bare(one, task)]
    if without:
        strays = [
            stray
            for stray in root.names()
            if stray not in _OWN and stray not in dataset.tasks and _kind(root.below(stray)) == "folder"
        ]
        warn(
            f"{name} has nothing for {len(without)} of {len(tasks)} tasks, such as {without[0]}: "
            f"they are scored as handed in empty{_meant(strays, without)}."
        )
    if bare:
        warn(_bare_words(name, bare))
    return found


def _meant(strays: Sequence[str], without: Sequence[str]) -> str:
    """What to say of folders that are no task's, where tasks have none: a slip of the pen, most often."""
    for stray in strays:
        if close := difflib.get_close_matches(stray.lower(), without, n=1, cutoff=_SIMILAR):
            return f"; {stray!r} in it is no task id: is {close[0]} meant?"
    return f"; {strays[0]!r} in it is no task id" if strays else ""


def _is_bare(sample: Sample, task: Task) -> bool:
    """Whether nothing lies where a declared artifact may: more often a slip in the layout than nothing to
    hand in.
    """
    if sample.folder is None or not task.spec.artifacts:
        return False
    root, artifacts = os.fspath(sample.folder), task.spec.artifacts
    return all(located(one, artifacts, root, sample.odd) is None for one in artifacts)


def _bare_words(name: str, bare: Sequence[tuple[Task, Sample]]) -> str:
    task, sample = bare[0]
    assert sample.folder is not None  # noqa: S101 - else it would not be bare
    artifacts = task.spec.artifacts
    held = Root(sample.folder, "", sample.odd).names()
    inside = ", ".join(repr(one) for one in held[:_SHOWN]) + (", …" if len(held) > _SHOWN else "")
    nears = (similar(one, os.fspath(sample.folder), sample.odd) for one in artifacts[:_SHOWN])
    near = next(filter(None, nears), "")
    where = sample.shown or str(sample.folder)
    return (
        f"{name}: {len(bare)} of its hand-ins have none of the declared artifacts and are scored as empty, "
        f"such as {where} for {task.task_id}, which has no "
        f"{' nor '.join(one.path for one in artifacts[:_SHOWN])}; it holds {inside or 'nothing'}"
        + (f". Is {near} meant to be one?" if near else ".")
    )


def _samples(place: Root, warn: Callable[[str], None]) -> dict[int, Sample] | None:
    """The samples at `place`; None when nothing is there.

    Where no number can be read that is a refusal: it must not be scored as if nothing had been handed in.
    """
    kind = _kind(place)
    if kind is None:
        return None
    if kind != "folder":
        return {1: _refused(place, kind)}
    several = place.below(SAMPLES)
    kind = _kind(several)
    if kind is None:
        return {1: _sample(place)}
    if kind != "folder":
        return {1: _refused(several, kind)}
    numbered: dict[int, Sample] = {}
    ignored: list[str] = []
    for name in several.names():
        still_wanted()
        if not _NUMBER.fullmatch(name) or int(name) > MAX_SAMPLES:
            ignored.append(name)
            continue
        one = several.below(name)
        sort = _kind(one)
        numbered[int(name)] = _sample(one) if sort == "folder" else _refused(one, sort or "gone")
    if ignored and not numbered:
        where = f"{place.folder.name}/{SAMPLES}"
        text = f"{where} has no sample: {min(ignored)!r} is no number from 1 to {MAX_SAMPLES}"
        return {1: Sample(refused=f"{text}, written without leading zeros.")}
    if ignored:
        warn(
            f"{several.shown}: {len(ignored)} entries are no sample numbers (1 to {MAX_SAMPLES}) and are "
            f"ignored, such as {min(ignored)!r}."
        )
    return dict(sorted(numbered.items())) or None


def _sample(place: Root) -> Sample:
    # A folder is named by its path where that is needed; what was unpacked, by its archive.
    return Sample(
        folder=place.folder, odd=place.odd, shown="" if place.shown == str(place.folder) else place.shown
    )


def _refused(place: Root, kind: str) -> Sample:
    path = place.folder
    return Sample(refused=f"{path.parent.name}/{path.name} is {kind}, where a folder is expected.")


def _kind(place: Root) -> str | None:
    """What lies at a place itself, in words; None when nothing does."""
    if place.odd.refusal:
        return place.odd.refusal.removeprefix("is ").partition(";")[0]
    try:
        mode = os.lstat(place.folder).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "a file" if place.odd.why else None
    except OSError as error:
        return f"unreadable ({error.strerror})"
    if stat.S_ISDIR(mode):
        return "folder" if os.access(place.folder, os.R_OK | os.X_OK) else "an unreadable folder"
    return kind_of(mode)
