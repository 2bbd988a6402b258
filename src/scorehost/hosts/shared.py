"""The run phase's own container started again as the evaluator's host (`evaluate_host.isolated: false`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from scorehost.errors import AttemptFailed
from scorehost.files.tree import Tree, archive
from scorehost.hosts.blueprint import ROOT, TASK, TOOLS, Blueprint
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.host import UPLOAD_SECONDS, Host, Site, attached, blamed, guarded, in_time, started
from scorehost.hosts.live import Live
from scorehost.hosts.usage import Usage
from scorehost.model.failure import Phase, failure


@dataclass(frozen=True, slots=True)
class Vacated:
    """The container of a run phase in which nothing runs any more; `tools` and `code` still lie in it."""

    host: Host
    tools: Tree
    code: Tree

    def trees(self, cargo: Cargo, blueprint: Blueprint) -> Mapping[str, Tree]:
        """Folder below /attempt -> what has to lie there when the evaluator begins.

        The evaluator's code comes beside that of the run phase, and over it where both have a file.
        """
        code = {entry.path: entry for tree in (self.code, cargo.code) for entry in tree.entries}
        folders = tuple(dict.fromkeys(self.code.folders + cargo.code.folders))
        trees = cargo.trees(blueprint)
        merged = Tree(tuple(code.values()), folders, trees[TASK].links)
        return {**trees, TOOLS: self.tools, TASK: merged}


@asynccontextmanager
async def second_life(
    site: Site, vacated: Vacated, blueprint: Blueprint, trees: Mapping[str, Tree]
) -> AsyncIterator[Live]:
    """Feeds the stopped container and starts it again; whoever made it removes it.

    Its places in memory are fresh then. All else in it belongs to root, and the runner's first words say
    what lies there now. Raises AttemptFailed: start_failed, start_timeout, engine_lost, changed_input.
    """
    host = vacated.host
    with blamed(Phase.UPLOAD, blueprint):
        state = await host.engine.inspect(host.container)
    if state.running:
        text = "the container of the run phase runs again, so no gold may enter it"
        raise AttemptFailed(failure(Phase.UPLOAD, "engine_lost", text))
    host.blueprint = blueprint
    host.ended, host.usage = "", Usage()
    host.execs = host.opened = host.printed = 0
    host.greeted = host.stuck = host.hurried = host.removed = host.heard_out = False
    host.memory.begin_anew(host.container)
    rest = {folder: tree for folder, tree in trees.items() if folder != TOOLS}
    with site.timed("upload"), blamed(Phase.UPLOAD, blueprint):
        async with in_time(site.engine, UPLOAD_SECONDS):
            await site.engine.upload(host.container, ROOT, archive(rest.items(), digested=True))
    async with attached(host) as stream:
        guarded(host)
        await started(site, host)
        yield Live(host, stream)


def taken_over(plan: Blueprint, run: Blueprint) -> Blueprint:
    """The evaluator's blueprint as the run phase's container can be it: with its image and its places."""
    return replace(plan, image=run.image, tmpfs_mb=run.tmpfs_mb, file_locks=run.file_locks)
