"""What was handed in as a part of the attempt's folder."""

from __future__ import annotations

from dataclasses import replace

from scorehost.files.tree import Tree
from scorehost.runs.draft import Draft
from scorehost.spec.task import TaskSpec
from scorehost.submissions.intake import Taken


def link_submission(draft: Draft, spec: TaskSpec, taken: Taken) -> Taken:
    """Puts what is scored at the artifacts' places in an attempt's folder; the same hand-in, read from there.

    Raises DiskFull, and Interrupted once the draft was dropped.
    """
    linked: dict[str, Tree] = {}
    for artifact in spec.artifacts:
        tree = taken.artifacts.get(artifact.id)
        if tree is None:
            continue
        for folder in tree.folders:
            draft.make(f"{artifact.place}/{folder}")
        entries = []
        for entry in tree.entries:
            path = f"{artifact.place}/{entry.path}" if entry.path else artifact.place
            place = draft.link(path, entry.source, size=entry.size, sha256=entry.sha256)
            entries.append(replace(entry, source=place))
        linked[artifact.id] = replace(tree, entries=tuple(entries))
    return replace(taken, artifacts={**taken.artifacts, **linked})
