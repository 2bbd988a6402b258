"""What a verdict is bound to: one digest for each thing that bears on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scorehost.errors import AttemptFailed
from scorehost.files.names import on_one_line
from scorehost.files.tree import Entry, Tree, read_tree
from scorehost.hosts.cargo import tools
from scorehost.model.failure import Phase, failure
from scorehost.model.json import digest
from scorehost.model.result import ScoringDigests
from scorehost.spec.dataset import Task
from scorehost.spec.profiles import Profiles

FileState = tuple[int, int, int, int]  # size, times of content and inode (ns), inode number


@dataclass(frozen=True, slots=True)
class TaskTrees:
    """A task's gold and code as they were when its first attempt of the job began.

    `spec` and `limits` are digests of task.yaml: they hold for every attempt, and are taken once.
    """

    gold: Tree
    code: Tree
    states: Mapping[Path, FileState]
    spec: str
    limits: str

    @classmethod
    def read(cls, task: Task) -> TaskTrees:
        """Reads and hashes the files. Raises AttemptFailed (changed_input) for one that cannot be read."""
        try:
            # Looked at before they are read: a change in between shows later.
            states = {path: _state(path) for path in (*task.gold.values(), *task.code.values())}
            gold, code = (read_tree(sorted(files.items())) for files in (task.gold, task.code))
        except OSError as error:
            name = on_one_line(os.path.relpath(os.fsdecode(error.filename or ""), task.folder))
            text = f"{name} of the task cannot be read any more: {os.strerror(error.errno or 0)}"
            raise AttemptFailed(failure(Phase.PREPARE, "changed_input", text)) from error
        spec = task.spec.model_dump(mode="json")
        limits = digest(spec.pop("limits"))
        return cls(gold, code, states, digest(spec), limits)

    def changed(self, task: Task) -> str:
        """The first file that is not what it was, as a name to show; "" when all are. Belongs into a thread.

        Only what looks touched (size, times, inode) is hashed again.
        """
        for entry in (*self.gold.entries, *self.code.entries):
            try:
                same = self.states[entry.source] == _state(entry.source) or _is_still(entry)
            except OSError:
                same = False
            if not same:
                return on_one_line(os.path.relpath(entry.source, task.folder))
        return ""


def _state(path: Path) -> FileState:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_still(entry: Entry) -> bool:
    (now,) = read_tree([(entry.path, entry.source)]).entries
    return now == entry


@dataclass(frozen=True, slots=True)
class Tools:
    """What scorehost itself puts into hosts."""

    tools: Tree
    harness: Tree

    @classmethod
    def read(cls) -> Tools:
        """Reads and hashes the installed files."""
        return cls(*tools())


def scoring_digests(trees: TaskTrees, own: Tools, images: Mapping[str, str]) -> ScoringDigests:
    """The digests of one attempt; `images` are the ids of the hosts that it started, by name."""
    return ScoringDigests(
        task=trees.spec,
        evaluator=trees.code.digest,
        gold=trees.gold.digest,
        images=dict(sorted(images.items())),
        limits=trees.limits,
        sdk=own.tools.digest,
    )


def profile_digest(profiles: Profiles) -> str:
    """The digest of the profile that a job ran with."""
    return digest(profiles.model_dump(mode="json"))
