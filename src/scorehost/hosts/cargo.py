"""What each host of an attempt is fed with: gold and evaluator only where the task lets them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from scorehost.files.tree import Entry, Tree, held, read_tree
from scorehost.hosts import blueprint as places
from scorehost.hosts.blueprint import Blueprint

_IN_CONTAINER = ("scorehost_sdk", "ageval_sdk")
# As in the task's own folder: an evaluator may look for its gold beside itself.
_BESIDE = ((places.EVALUATION, f"../{places.EVALUATION}"),)
_HARNESS = ("harness.py", "shortage.py", "wire.py")  # run submitted functions
# For other hosts, an author's machine and the controller: an evaluator's host would carry them for nothing.
_STAY_HERE = {
    "harness.py",
    "testing.py",
    "local_agents.py",
    "local_process.py",
    "local_task.py",
    "verdict.py",
}


@dataclass(frozen=True, slots=True)
class Cargo:
    """The trees of one attempt. `tools` is runner and SDK, `harness` what runs submitted functions.

    `folders`: the task takes folders of the submission, small or large.
    """

    gold: Tree
    code: Tree
    tools: Tree
    harness: Tree
    artifacts: Tree
    workspace: Tree
    folders: bool = False

    def trees(self, host: Blueprint) -> Mapping[str, Tree]:
        """Folder below /attempt -> what is unpacked there, for one kind of host."""
        load: dict[str, Tree] = {}
        tools = self.tools if host.evaluator else self.harness
        if host.copy_workspace:
            staged = tuple(
                Entry(
                    f"{places.WORKSPACE}/{entry.path}",
                    entry.source,
                    entry.sha256,
                    entry.size,
                    entry.executable,
                )
                for entry in self.workspace.entries
            )
            folders = (places.WORKSPACE, *(f"{places.WORKSPACE}/{name}" for name in self.workspace.folders))
            tools = Tree(tools.entries + staged, folders)
        load[places.TOOLS] = tools
        if host.gold:
            load[places.EVALUATION] = self.gold
            load[places.TASK] = replace(self.code, links=_BESIDE)
        load[places.ARTIFACTS] = self.artifacts if host.artifacts else Tree()
        load[places.WORKSPACE] = self.workspace if host.artifacts and not host.copy_workspace else Tree()
        return load


def tools() -> tuple[Tree, Tree]:
    """(runner and SDK, harness alone), from the installed packages."""
    files: dict[str, Path] = {}
    for package in _IN_CONTAINER:
        root = _package_folder(package)
        sent = (path for path in sorted(root.rglob("*.py")) if path.name not in _STAY_HERE)
        files |= {f"{package}/{path.relative_to(root)}": path for path in sent}
    sdk = _package_folder("scorehost_sdk")
    return (
        held(read_tree([("runner.py", sdk / "runner.py"), *files.items()])),
        held(read_tree([(name, sdk / name) for name in _HARNESS])),
    )


def _package_folder(package: str) -> Path:
    # Beside this package in a checkout and in site-packages alike. Importing it is not needed to send it.
    return Path(__file__).resolve().parents[2] / package
