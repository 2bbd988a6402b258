"""The run phase of one attempt: fed, carried out, and what it published taken in as a submission is."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from scorehost.aio.threads import in_thread
from scorehost.attempt.agents import AttemptAgents
from scorehost.attempt.blueprints import run_blueprint
from scorehost.attempt.inputs import run_inputs
from scorehost.attempt.resources import Resources
from scorehost.attempt.shelf import Shelf
from scorehost.attempt.work import WorkOrder
from scorehost.errors import AttemptFailed
from scorehost.files.removal import remove_tree
from scorehost.files.tree import Entry, Tree, read_tree
from scorehost.hosts.blueprint import ARTIFACTS, TASK, TOOLS, WORKSPACE
from scorehost.hosts.host import Site
from scorehost.hosts.production import Produced, Production, produce
from scorehost.hosts.shared import Vacated
from scorehost.model.failure import Phase, failure
from scorehost.model.json import digest
from scorehost.model.result import HostUsage
from scorehost.submissions.intake import Taken
from scorehost.submissions.sample import Sample

_BESIDE = (("data", f"../{TOOLS}/{WORKSPACE}"),)  # as in the task's own folder, beside run.py


@dataclass(slots=True)
class RunPhase:
    """What came of it, as far as it went: `end` None while it has not ended by itself or by a limit.

    `keep`: what its container is removed with, when scoring happens in it; then `vacated` is that container.
    """

    keep: AsyncExitStack | None = None
    vacated: Vacated | None = None

    end: Produced | None = None
    taken: Taken | None = None
    host: HostUsage | None = None
    log: bytes = b""
    log_cut: bool = False  # something of it is missing
    digest: str = ""


async def carry_out(
    resources: Resources,
    order: WorkOrder,
    site: Site,
    agents: AttemptAgents | None,
    *,
    staging: Path,
    take: Callable[[Sample], Awaitable[Taken]],
    run: RunPhase,
) -> Taken:
    """Runs run.py of the task and gives what it published; `run` is filled in, also on the way to a failure.

    `staging` is a folder of ours that need not exist; it is gone afterwards. Raises as `produce` and `take`.
    """
    task = order.work.task
    plan = run_blueprint(task, resources.dataset.profiles)
    image = await resources.images.resolve(plan.image, build_seconds=plan.limits.build_seconds)
    code, data = await in_thread(lambda: _read(order), resources.files)
    tools = Tree(resources.tools.tools.entries + _below(WORKSPACE, data), (WORKSPACE,))
    if data.entries:
        code = replace(code, links=_BESIDE)
    run.digest = digest({"code": code.digest, "data": data.digest, "image": image.id})
    shelf = Shelf(task.spec, staging)
    production = Production(
        site=site,
        blueprint=plan,
        image=image,
        trees={TOOLS: tools, TASK: code} | ({} if plan.reused else {ARTIFACTS: Tree(), WORKSPACE: Tree()}),
        data_bytes=data.in_memory,
        inputs=run_inputs(order, resources.gold_key, resources.dataset.layout),
        shelf=shelf,
        agents=None if agents is None else agents.during(Phase.RUN),
        roles=tuple(role.id for role in task.spec.agent_profiles),
        keep=run.keep if plan.reused else None,
    )
    try:
        with resources.images.using(image):
            run.end = await produce(production)
        if production.host is not None:
            run.vacated = Vacated(production.host, tools, code)
        run.taken = await take(Sample(shelf.done if shelf.done.is_dir() else None, exact=True))
        return run.taken
    finally:
        run.host = production.usage
        if production.log is not None:
            run.log, run.log_cut = production.log.content(), production.log.truncated
        with anyio.CancelScope(shield=True):
            await in_thread(functools.partial(_removed, staging), resources.files)


def _removed(staging: Path) -> None:
    with suppress(OSError):
        remove_tree(staging)


def _read(order: WorkOrder) -> tuple[Tree, Tree]:
    task = order.work.task
    try:
        return read_tree(sorted(task.run_code.items())), read_tree(sorted(task.data.items()))
    except OSError as error:
        text = f"a file of the task's run phase cannot be read any more: {error.strerror}"
        raise AttemptFailed(failure(Phase.PREPARE, "changed_input", text)) from error


def _below(folder: str, tree: Tree) -> tuple[Entry, ...]:
    return tuple(
        Entry(f"{folder}/{each.path}", each.source, each.sha256, each.size, each.executable)
        for each in tree.entries
    )
