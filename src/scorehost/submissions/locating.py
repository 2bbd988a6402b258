"""Where an artifact lies in a sample's folder: at its declared path, or where people put it instead.

The declared path comes first, and each step of it may be spelled in another Unicode normal form or encoding.
Else the end of it counts (`answer.csv` for `artifacts/answer.csv`), where it can be no other artifact's.
What is taken instead is said, and what is only similar is named and not taken.
"""

from __future__ import annotations

import difflib
import os
import stat
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from scorehost.files.names import on_one_line
from scorehost.submissions.odd import Odd
from scorehost.submissions.spellings import the_one

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scorehost.spec.task import Artifact

_LISTED = 10_000  # names of one folder that are looked through for another spelling
_SEARCHED = 2_000  # files of a sample that are looked through for a similar name
_SEARCHED_LEVELS = 5
_SIMILAR = 0.8


@dataclass(frozen=True, slots=True)
class Located:
    """The path that an artifact has in a sample, and what is to be said of it ("" at its declared path)."""

    path: tuple[str, ...]
    note: str = ""


def litter(name: str) -> bool:
    """Whether an entry of that name is what a file manager left and no person put there."""
    return name in ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini") or name.startswith("._")


def located(artifact: Artifact, artifacts: Sequence[Artifact], root: str, odd: Odd) -> Located | None:
    """Where `artifact` lies below the folder `root`; None when it is not there. Opens nothing.

    A link or something else that cannot be taken is there too: whoever takes it in refuses it.
    """
    declared = tuple(artifact.path.split("/"))
    if _there(root, declared, odd) is not None:
        return Located(declared)
    for path in (declared, *_other_places(artifact, artifacts)):
        found = _spelled(path, root, odd)
        if found is None:
            continue
        place, how = found
        if path != declared and _there(root, place, odd) != _kind(artifact):
            continue
        shown = on_one_line("/".join(place))
        why = f": its name is {how}" if how else ""
        return Located(place, f"{shown} was taken for {on_one_line(artifact.path)}, which is not there{why}")
    return None


def similar(artifact: Artifact, root: str, odd: Odd) -> str:
    """The path below `root` that is most like that of a missing artifact, spelled for a message; ""."""
    wanted = artifact.path.casefold()
    base = wanted.rpartition("/")[2]
    best, most = "", 0.0
    for path in islice(_paths(root, odd), _SEARCHED):
        name = path.rpartition("/")[2].casefold()
        alike = max(
            2.0 if path.casefold() == wanted else 0.0,
            1.5 if name in (base, f".{base}.icloud") else 0.0,
            1.0 if os.path.splitext(name)[0] == os.path.splitext(base)[0] else 0.0,  # noqa: PTH122
            difflib.SequenceMatcher(None, name, base).ratio(),
        )
        if alike > most:
            best, most = path, alike
    return on_one_line(best) if most >= _SIMILAR else ""


def _other_places(artifact: Artifact, artifacts: Sequence[Artifact]) -> Iterator[tuple[str, ...]]:
    """Paths that can mean no other artifact: below artifacts/, and the ends of the declared path."""
    steps = tuple(artifact.path.split("/"))
    others = [tuple(one.path.split("/")) for one in artifacts if one.id != artifact.id]
    ends = [steps[start:] for start in range(1, len(steps))]
    for path in ([] if artifact.place == artifact.path else [tuple(artifact.place.split("/"))]) + ends:
        if not any(other[-len(path) :] == path or _nested(other, path) for other in others):
            yield path


def _nested(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _kind(artifact: Artifact) -> str:
    return "folder" if artifact.kind == "tree" else "file"


def _there(root: str, path: Sequence[str], odd: Odd) -> str | None:
    """What lies at a path, by lstat of each step: `file`, `folder`, or `other` for what nobody takes."""
    place, node, mode = root, odd, 0
    for count, step in enumerate(path, start=1):
        node = node.at(step)
        if node.refusal:
            return "other"
        place = f"{place}/{step}"
        try:
            mode = os.lstat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "other" if node.why else None
        except OSError:
            return "other"  # taking it in will say what is wrong with it
        if not stat.S_ISDIR(mode) and count < len(path):
            return "other"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def _spelled(path: Sequence[str], root: str, odd: Odd) -> tuple[tuple[str, ...], str] | None:
    """The path as it is spelled on disk, and how that differs; None when it is not there."""
    place, node, taken, told = root, odd, [], ""
    for step in path:
        name = step
        if not os.path.lexists(f"{place}/{step}") and not node.at(step).why:
            found = the_one(_listed(place, node), step)
            if found is None:
                return None
            name, told = found[0], told or found[1]
        taken.append(name)
        place, node = f"{place}/{name}", node.at(name)
    return tuple(taken), told


def _listed(folder: str, odd: Odd) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in islice(entries, _LISTED)}
    except OSError:
        names = set()
    return sorted(names | set(odd.below))


def _paths(root: str, odd: Odd) -> Iterator[str]:
    """Files below a folder, nearest first, and what only the archive had."""
    waiting: list[tuple[str, int]] = [("", 0)]
    while waiting:
        prefix, level = waiting.pop(0)
        try:
            with os.scandir(f"{root}/{prefix}") as listed:
                entries = sorted(islice(listed, _SEARCHED), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if litter(entry.name):
                continue
            path = f"{prefix}{entry.name}"
            yield path
            if entry.is_dir(follow_symlinks=False) and level < _SEARCHED_LEVELS:
                waiting.append((f"{path}/", level + 1))
    yield from ("/".join(names) for names in odd.names(_SEARCHED))
