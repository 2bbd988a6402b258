"""The evaluation of one attempt: all its hosts, from the first create to the last remove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import anyio

from scorehost.aio.groups import task_group
from scorehost.aio.threads import in_thread
from scorehost.engine.door import Image
from scorehost.errors import AttemptFailed
from scorehost.files.capture import Capture
from scorehost.files.tree import Tree, changed_source
from scorehost.hosts.agents import Agents
from scorehost.hosts.blueprint import ROOT, Blueprint
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.evaluator import Dialogue
from scorehost.hosts.frames import Start
from scorehost.hosts.host import Host, Site
from scorehost.hosts.images import Images
from scorehost.hosts.live import Live, live_host
from scorehost.hosts.named import NamedHosts
from scorehost.hosts.requests import Requests
from scorehost.hosts.sessions import Told
from scorehost.hosts.shared import Vacated, second_life
from scorehost.hosts.warm import WarmHosts
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import Phase, failure
from scorehost.model.result import HostUsage


@dataclass(slots=True)
class Evaluation:
    """What `evaluate` needs, and where it leaves what it learned, also when it fails: `hosts`, `log`, `told`,
    `misread` (a reply of an agent that was not what the evaluator read it as, though it caught that).

    `vacated`: the container to evaluate in, in place of one that is made for it.
    """

    site: Site
    blueprint: Blueprint
    image: Image
    named: Mapping[str, Blueprint]
    images: Images
    cargo: Cargo
    entrypoint: str
    inputs: dict[str, Any]
    keep: Callable[[str, ExecResult], None]
    enter: Callable[[Phase], None]
    begun: Callable[[], None] = lambda: None  # called when the evaluator runs: the engine is free for others
    warm: WarmHosts | None = None
    agents: Agents | None = None
    roles: tuple[str, ...] = ()
    vacated: Vacated | None = None
    hosts: tuple[HostUsage, ...] = ()
    log: Capture | None = None
    any_name: bool = False  # without a map, every name of a host means the single one
    told: list[Any] = field(default_factory=list)  # rows of checks that counted at once, not yet judged
    misread: Told | None = None

    def trees(self) -> Mapping[str, Tree]:
        """Folder below /attempt -> what has to lie there when the evaluator begins."""
        if self.vacated is not None:
            return self.vacated.trees(self.cargo, self.blueprint)
        return self.cargo.trees(self.blueprint)


async def evaluate(order: Evaluation) -> dict[str, Any]:
    """What the evaluator returned, not yet judged. Every host that was made for it is removed before, or is
    on its way out once the keeper has vouched for the evaluator's end.

    Raises AttemptFailed, EngineUnreachable, EngineTimeout.
    """
    clock = StandingClock(order.blueprint.limits.evaluate_seconds)
    named = NamedHosts(
        order.site,
        blueprints=order.named,
        images=order.images,
        cargo=order.cargo,
        clock=clock,
        keep=order.keep,
        warm=order.warm,
    )
    made = AsyncExitStack()
    hosts: list[Host] = []
    try:
        if order.vacated is not None:
            hosts.append(order.vacated.host)
            opened = second_life(order.site, order.vacated, order.blueprint, order.trees())
        else:
            opened = live_host(
                order.site,
                order.blueprint,
                order.image,
                order.cargo,
                warm=order.warm,
                met=hosts.append,
                spoken_to=True,
            )
        live = await made.enter_async_context(opened)
        live.host.clock = clock
        return await _talk(order, live, named, clock)
    finally:
        order.enter(Phase.CLEANUP)
        with anyio.CancelScope(shield=True):
            async with task_group() as group:
                group.start_soon(named.remove)
                group.start_soon(made.aclose)
        order.hosts = (*(host.report() for host in hosts), *named.reports())


async def _talk(order: Evaluation, live: Live, named: NamedHosts, clock: StandingClock) -> dict[str, Any]:
    order.log = Capture(order.blueprint.limits.output_bytes)
    trees = order.trees()
    single = not order.named

    def begin() -> None:
        order.enter(Phase.EVALUATE)
        order.begun()

    async def leave_named() -> None:
        # Nobody asks for them any more: they go while the evaluator ends.
        await named.read_usage()
        named.have_served()
        await named.remove()

    dialogue = Dialogue(
        host=live.host,
        stream=live.main_stream(),
        start=Start(
            entrypoint=order.entrypoint,
            inputs=order.inputs,
            environments=tuple(order.named),
            gold=tuple(name for name, plan in order.named.items() if plan.gold),
            single=single,
            any_name=order.any_name,
            trees=tuple(f"{ROOT}/{folder}" for folder in trees),
            roles=order.roles,
            fed=live.host.blueprint.fed,
            alone=True,
            shared=live.host.shared,
            excused=tuple(sorted(order.site.excused)),
        ),
        before=live.before,
        after=live.after,
        trees={f"{ROOT}/{folder}": tree.digest for folder, tree in trees.items()},
        clock=clock,
        log=order.log,
        serve=Requests(
            named,
            live.host,
            single=single,
            limits=order.blueprint.limits,
            agents=order.agents,
            clock=clock,
        ),
        begin=begin,
        near_end=leave_named,
        told=order.told,
    )
    try:
        with order.site.timed("evaluate"):
            value = await dialogue.run()
    except AttemptFailed as error:
        if error.failure.kind == "upload_damaged":
            await _refuse_changed(trees, error)
        raise
    # What an error leaves goes before the attempt is told: only after a verdict may a host go later.
    live.host.served = dialogue.vouched
    order.misread = dialogue.misread
    if emulated := order.images.emulated(order.image):
        order.site.warn_once(emulated)
    return value


async def _refuse_changed(trees: Mapping[str, Tree], error: AttemptFailed) -> None:
    """Raises AttemptFailed (changed_input) when a file here changed, so that the engine damaged nothing."""
    path = await in_thread(lambda: changed_source(trees.items()), anyio.CapacityLimiter(1))
    if path:
        text = f"{path} changed on disk while the job ran"
        raise AttemptFailed(failure(Phase.UPLOAD, "changed_input", text)) from error
