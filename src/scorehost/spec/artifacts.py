"""Rules for artifacts and inputs that go beyond the shape of their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from scorehost.spec.files import relative_path_fault
from scorehost.spec.task import HOMES
from scorehost.spec.yaml_tree import Loc, Map, Sequence, find

if TYPE_CHECKING:
    from scorehost.spec.problems import Problems
    from scorehost.spec.task import Artifact, TaskSpec

# What stands at the top of a sample's folder and means something else there.
_KEPT = {"samples": "holds several samples of one task", "submission.yaml": "says who handed in"}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_PUBLISHABLE: Loc = ("artifacts", "publishable")
_INPUTS: Loc = ("evaluation", "inputs")
Say = Callable[[Loc, str, str], None]


def check_artifacts(spec: TaskSpec, tree: Map, problems: Problems) -> None:
    """Adds what is wrong with ids, paths, kinds and targets of a task's artifacts."""

    def say(loc: Loc, text: str, hint: str) -> None:
        found = find(tree, loc)
        problems.add(found.place, found.key, text, hint)

    _ids([artifact.id for artifact in spec.artifacts], say)
    for number, artifact in enumerate(spec.artifacts):
        _artifact(artifact, (*_PUBLISHABLE, number), say)
    _apart([((*_PUBLISHABLE, n, "path"), a.place) for n, a in enumerate(spec.artifacts)], say)
    rows = spec.evaluation.inputs
    if rows is None:
        return
    known = {artifact.id: artifact for artifact in spec.artifacts}
    listed = find(tree, _PUBLISHABLE).node
    # Rows that fit no artifact were told already; what they are called is not known here.
    complete = not isinstance(listed, Sequence) or listed.numbers is None
    used: set[str] = set()
    for number, row in enumerate(rows):
        loc = (*_INPUTS, number)
        if row.artifact not in known and complete:
            say(
                (*loc, "artifact"),
                f"no artifact is called `{row.artifact[:60]}`",
                _listed("There are", known),
            )
        elif row.artifact in used:
            say((*loc, "artifact"), f"`{row.artifact}` stands in two rows", "Give an artifact one target")
        used.add(row.artifact)
        _path((*loc, "target"), row.target, known.get(row.artifact), say)
    _apart([((*_INPUTS, n, "target"), row.target) for n, row in enumerate(rows)], say)


def _listed(start: str, names: Iterable[str]) -> str:
    text = ", ".join(f"`{name}`" for name in names)
    return f"{start} {text}" if text else "Declare it under artifacts.publishable"


def _ids(ids: list[str], say: Say) -> None:
    for number, name in enumerate(ids):
        loc = (*_PUBLISHABLE, number, "id")
        if not _ID.fullmatch(name):
            say(loc, "an id is letters, digits, `.`, `_` and `-`, at most 128", "Rename it")
        elif name == "task_id":
            say(loc, "`task_id` is a column of --predictions files", "Rename it")
        elif name in ids[:number]:
            say(loc, f"two artifacts are called `{name}`", "Rename one of them")


def _artifact(artifact: Artifact, loc: Loc, say: Say) -> None:
    path, top = artifact.path, artifact.path.partition("/")[0]
    if fault := relative_path_fault(path):
        say((*loc, "path"), f"the path {fault}", "Write a path below artifacts/ or workspace/")
    elif top in _KEPT:
        say((*loc, "path"), f"`{top}` in a hand-in {_KEPT[top]}", "Give the artifact another path")
    elif path in HOMES and artifact.kind != "tree":
        say(
            (*loc, "path"),
            f"`{path}` is a folder, and the artifact is a file",
            f"Write `{path}/NAME`, or `kind: tree`",
        )
    if artifact.exclude and artifact.kind != "tree":
        say((*loc, "exclude"), "is for trees only", "Write `kind: tree`, or remove it")


def _path(loc: Loc, text: str, artifact: Artifact | None, say: Say) -> None:
    fault = relative_path_fault(text)
    if fault:
        say(loc, f"the path {fault}", "Write a path below artifacts/ or workspace/")
    elif text.partition("/")[0] not in HOMES:
        say(loc, f"`{text[:60]}` is not below artifacts/ or workspace/", "Put it below one of them")
    elif text in HOMES and artifact is not None and artifact.kind != "tree":
        say(loc, f"`{text}` is a folder, and the artifact is a file", f"Write `{text}/NAME`, or `kind: tree`")


def _apart(places: list[tuple[Loc, str]], say: Say) -> None:
    for number, (loc, text) in enumerate(places):
        parts = text.split("/")
        for _, earlier in places[:number]:
            other = earlier.split("/")
            shorter = min(len(parts), len(other))
            if parts[:shorter] == other[:shorter]:
                how = (
                    "is taken by another artifact"
                    if parts == other
                    else f"and `{earlier[:60]}` lie in each other"
                )
                say(loc, f"`{text[:60]}` {how}", "Give each artifact a place of its own")
                break
