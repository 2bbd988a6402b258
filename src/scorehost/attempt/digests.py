"""What a verdict is bound to: one digest for each thing that bears on it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from scorehost.errors import AttemptFailed
from scorehost.files.names import on_one_line
from scorehost.files.tree import Entry, Tree, read_tree
from scorehost.hosts.cargo import tools
from scorehost.model.failure import Phase, failure
from scorehost.model.result import ScoringDigests
from scorehost.spec.dataset import Task
from scorehost.spec.digests import measure_digests
from scorehost.spec.gold_key import GoldFile, GoldKey

FileState = tuple[int, int, int, int]  # size, times of content and inode (ns), inode number


@dataclass(frozen=True, slots=True)
class TaskTrees:
    """A task's gold and code as they were when its first attempt of the job began.

    `bound` is what its verdicts rest on, as far as that is the same for every attempt: it is taken once.
    """

    gold: Tree
    code: Tree
    states: Mapping[Path, FileState]
    bound: ScoringDigests

    @classmethod
    def read(cls, task: Task, key: GoldKey, own: Tools) -> TaskTrees:
        """Reads and hashes the files; gold is bound under `key`.

        Raises AttemptFailed (changed_input) for a file that cannot be read.
        """
        try:
            # Looked at before they are read: a change in between shows later.
            states = {path: _state(path) for path in (*task.gold.values(), *task.code.values())}
            gold, code = (read_tree(sorted(files.items())) for files in (task.gold, task.code))
        except OSError as error:
            name = on_one_line(os.path.relpath(os.fsdecode(error.filename or ""), task.folder))
            text = f"{name} of the task cannot be read any more: {os.strerror(error.errno or 0)}"
            raise AttemptFailed(failure(Phase.PREPARE, "changed_input", text)) from error
        said, limits = measure_digests(task.spec)
        bound = ScoringDigests(
            task=said,
            evaluator=code.digest,
            gold=key.digest(_gold_files(gold)),
            gold_key=key.id,
            images={},
            limits=limits,
            sdk=own.tools.digest,
        )
        return cls(gold, code, states, bound)

    def as_first(self, task: Task) -> ScoringDigests:
        """The same as `scorehost.result/1` had it, to hold results of that format against; never written."""
        said, limits = measure_digests(task.spec, first=True)
        changes = {"task": said, "limits": limits, "gold": self.gold.digest, "gold_key": None}
        return self.bound.model_copy(update=changes)

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


def scoring_digests(
    trees: TaskTrees, images: Mapping[str, str], roles: Mapping[str, str] = MappingProxyType({})
) -> ScoringDigests:
    """The digests of one attempt: the ids of the hosts that it started and digests of the roles that it
    asked, each by name.
    """
    known = {"images": dict(sorted(images.items())), "roles": dict(sorted(roles.items()))}
    return trees.bound.model_copy(update=known)


def _gold_files(gold: Tree) -> Iterator[GoldFile]:
    return (GoldFile(one.path, one.size, one.executable, one.sha256) for one in gold.entries)
