"""Where a submission's artifacts stand inside a host."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scorehost.files.tree import Entry, Tree, name_bytes
from scorehost.hosts.blueprint import ARTIFACTS, ROOT, WORKSPACE
from scorehost.spec.task import InputRow, TaskSpec
from scorehost.submissions.intake import Taken


@dataclass(frozen=True, slots=True)
class Layout:
    """The two trees of a submission, and the path in the container of each artifact that is present."""

    artifacts: Tree
    workspace: Tree
    paths: dict[str, str]
    rows: tuple[InputRow, ...]


def laid_out(spec: TaskSpec, taken: Taken) -> Layout:
    """Puts every artifact that the task takes as an input, and that is present, at its target."""
    rows = spec.input_rows
    entries: dict[str, list[Entry]] = {ARTIFACTS: [], WORKSPACE: []}
    folders: dict[str, list[str]] = {ARTIFACTS: [], WORKSPACE: []}
    paths: dict[str, str] = {}
    for row in rows:
        tree = taken.artifacts.get(row.artifact)
        if tree is None:
            continue
        top, _, rest = row.target.partition("/")
        paths[row.artifact] = f"{ROOT}/{row.target}"
        if rest and not (tree.entries and tree.entries[0].path == ""):
            folders[top].append(rest)
        folders[top] += [_joined(rest, folder) for folder in tree.folders]
        entries[top] += [replace(entry, path=_joined(rest, entry.path)) for entry in tree.entries]
    return Layout(
        artifacts=_tree(entries[ARTIFACTS], folders[ARTIFACTS]),
        workspace=_tree(entries[WORKSPACE], folders[WORKSPACE]),
        paths=paths,
        rows=rows,
    )


def _joined(first: str, second: str) -> str:
    return f"{first}/{second}" if first and second else first or second


def _tree(entries: list[Entry], folders: list[str]) -> Tree:
    return Tree(tuple(sorted(entries, key=lambda entry: name_bytes(entry.path))), tuple(folders))
