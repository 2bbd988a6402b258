"""One host of a task, filled as for an attempt, for a person to look into."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from scorehost.aio.threads import in_thread
from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints
from scorehost.attempt.layout import laid_out
from scorehost.errors import UsageError
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.host import Host, Site
from scorehost.hosts.live import live_host
from scorehost.hosts.named import NamedHosts
from scorehost.submissions.intake import take_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scorehost.attempt.resources import Resources
    from scorehost.attempt.work import WorkOrder


@asynccontextmanager
async def host_to_look_into(
    resources: Resources, order: WorkOrder, name: str | None, warn: Callable[[str], None]
) -> AsyncIterator[Host]:
    """The running host `name` of the order's task (None: the evaluator's), removed at the end of the block.

    Nothing runs in it: an evaluator's host waits for a start that never comes. Raises UsageError for a name
    that the task does not declare, AttemptFailed as an attempt would.
    """
    task, profiles = order.work.task, resources.dataset.profiles
    evaluator, named = evaluator_blueprint(task, profiles), named_blueprints(task, profiles)
    if name not in (None, evaluator.name, *named):
        raise UsageError(
            f"The task {task.task_id} has no host {name!r}.",
            hint=f"It has {', '.join((evaluator.name, *named))}.",
        )
    site = Site(
        engine=resources.engine,
        memory=resources.memory,
        job=resources.job_id,
        slot=str(order.key),
        warn=warn,
        timing=lambda _phase, _seconds: None,
        mapped=resources.info.maps_users,
        excused=resources.excused,
    )
    trees = await resources.trees(task)
    taken = await in_thread(lambda: take_in(task.spec, order.work.sample, resources.blobs), resources.files)
    layout = laid_out(task.spec, taken)
    cargo = Cargo(
        gold=trees.gold,
        code=trees.code,
        tools=resources.tools.tools,
        harness=resources.tools.harness,
        artifacts=layout.artifacts,
        workspace=layout.workspace,
    )
    async with AsyncExitStack() as stack:
        if name is None or name == evaluator.name:
            seconds = evaluator.limits.build_seconds
            image = await resources.images.resolve(evaluator.image, build_seconds=seconds)
            opened = live_host(site, evaluator, image, cargo, warm=None, met=lambda _host: None)
            yield (await stack.enter_async_context(opened)).host
            return
        hosts = NamedHosts(
            site,
            blueprints=named,
            images=resources.images,
            cargo=cargo,
            clock=StandingClock(task.spec.limits.evaluate_seconds),
            keep=lambda _name, _outcome: None,
            warm=None,
        )
        stack.push_async_callback(hosts.remove)
        host = await hosts.running(name)
        assert host is not None  # noqa: S101 - the first start of a name is never refused
        yield host
