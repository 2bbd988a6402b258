"""The run phase: run.py in a container of its own until it returns, fails or reaches a limit; then dead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol

import anyio
from anyio.abc import TaskGroup

from scorehost.aio.groups import task_group
from scorehost.aio.threads import in_thread
from scorehost.engine.door import Image
from scorehost.errors import AttemptFailed
from scorehost.files.capture import Capture
from scorehost.files.tree import Tree
from scorehost.hosts.agents import Agents
from scorehost.hosts.blueprint import ROOT, TASK, TOOLS, Blueprint
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.evaluator import Dialogue
from scorehost.hosts.frames import (
    Budget,
    BudgetSpent,
    ChannelViolation,
    Check,
    FailedFrame,
    Log,
    Request,
    ResultFrame,
    Start,
)
from scorehost.hosts.held import Held
from scorehost.hosts.host import Host, Site, attached, made_host, started
from scorehost.hosts.judgement import lost_words
from scorehost.hosts.messages import CloseSession, Invoke, Judge, Publish, Session
from scorehost.hosts.sessions import Refused, Sessions
from scorehost.hosts.talk import Talk
from scorehost.hosts.working import works
from scorehost.model.blame import Order, Trouble, blame
from scorehost.model.failure import Blame, Phase, failure, is_agents
from scorehost.model.result import HostUsage

INVOCATIONS, WALL_TIME = "agent_invocations", "wall_time_seconds"
ENTRYPOINT = "run:run"
LAST_WORDS_SECONDS = 1.0  # from its last frame to the end of its log, which is another pipe


class Shelf(Protocol):
    """Takes what the run phase hands over."""

    def take(self, part: Publish) -> None:
        """Takes one part. Raises Refused, DiskFull."""


@dataclass(slots=True)
class Production:
    """What `produce` needs, and where it leaves what it learned, also when it fails: `usage` and `log`.

    `keep`: what the container is removed with, in place of the run phase's end; then `host` is the container,
    once nothing runs in it.
    """

    site: Site
    blueprint: Blueprint
    image: Image
    trees: Mapping[str, Tree]
    data_bytes: int
    inputs: dict[str, Any]
    shelf: Shelf
    agents: Agents | None
    roles: tuple[str, ...]
    keep: AsyncExitStack | None = None
    host: Host | None = None
    usage: HostUsage | None = None
    log: Capture | None = None


@dataclass(frozen=True, slots=True)
class Produced:
    """How the run phase ended. `limit`: the key of the limit that ended it. `why`: why it failed."""

    status: Literal["completed", "failed", "stopped"]
    limit: str | None = None
    why: str = ""


async def produce(order: Production) -> Produced:
    """Carries the run phase out; every process in its container is gone before this returns.

    So is the container, unless it is kept. Raises AttemptFailed for what is not run.py's doing: engine,
    image, an agent's fault not caught; DiskFull.
    """
    async with AsyncExitStack() as own:
        stack = order.keep if order.keep is not None else own
        host = await stack.enter_async_context(
            made_host(order.site, order.blueprint, order.image, order.trees, workspace_bytes=order.data_bytes)
        )
        try:
            with order.site.timed("run"):
                end = await _talked(order, host)
            host.ended = host.ended or ("timed_out" if end.limit == WALL_TIME else "")
            await _dead(host)
        finally:
            order.usage = host.report()
        if order.keep is not None:
            order.host = host
    return end


async def _talked(order: Production, host: Host) -> Produced:
    order.log = Capture(order.blueprint.limits.output_bytes)
    serve = RunRequests(order.shelf, order.agents)
    checked = {f"{ROOT}/{folder}": order.trees[folder].digest for folder in (TOOLS, TASK)}
    async with attached(host) as stream:
        await started(order.site, host)
        dialogue = Dialogue(
            host=host,
            stream=stream,
            start=Start(
                entrypoint=ENTRYPOINT,
                inputs=order.inputs,
                environments=(),
                single=False,
                trees=tuple(checked),
                roles=order.roles,
                phase="run",
                alone=True,
                shared=host.shared,
                excused=tuple(
                    sorted(order.site.excused | ({"network"} if order.blueprint.network else set()))
                ),
            ),
            trees=checked,
            clock=StandingClock(order.blueprint.limits.wall_time_seconds),
            log=order.log,
            serve=serve,
            begin=lambda: None,
            near_end=_nothing,
        )
        talk = Talk(dialogue)
        async with task_group() as group:
            group.start_soon(talk.listen, group, group)
            await talk.greet()
            wall = StandingClock(order.blueprint.limits.wall_time_seconds)
            wall.start()
            await _first_of(talk.spoken.wait, serve.over.wait, wall.expired)
            if talk.spoken.is_set():
                with anyio.move_on_after(LAST_WORDS_SECONDS):
                    await talk.over.wait()
            group.cancel_scope.cancel()
        if serve.limit:
            return Produced("stopped", serve.limit)
        if not talk.spoken.is_set():
            struck = host.facts(Trouble.TIME)
            if struck.order is Order.OTHERS:  # paused, say: its time is not its own
                text = lost_words(struck, "the container of the run phase", 0, None)
                _not_its_doing("host_lost", text, retryable=True)
            return Produced("stopped", WALL_TIME)
        return await _told(dialogue, talk, serve)


async def _first_of(*waits: Callable[[], Awaitable[object]]) -> None:
    async with task_group() as group:

        async def wait(until: Callable[[], Awaitable[object]]) -> None:
            await until()
            group.cancel_scope.cancel()

        for until in waits:
            group.start_soon(wait, until)


async def _told(dialogue: Dialogue, talk: Talk, serve: RunRequests) -> Produced:
    if talk.reason is not None:
        return Produced("failed", why=f"{talk.reason.kind}: {talk.reason.message}")
    if isinstance(talk.said, ResultFrame):
        return Produced("completed")
    if isinstance(talk.said, FailedFrame):
        error = talk.said.error
        if is_agents(error.kind) and error.kind in serve.sessions.told:
            told = serve.sessions.told[error.kind]
            _not_its_doing(error.kind, f"{told.message}; {error.message}", role=told.role)
        return Produced("failed", why=error.message)
    if talk.vouched is not None:
        why = dialogue.why_no_result(talk.vouched)
    else:
        why = await dialogue.why_it_ended(greeted=True)
    if why.blame in (Blame.ENVIRONMENT, Blame.ENGINE):
        text = why.message.replace("the evaluator", "the run phase")
        _not_its_doing(why.kind, text, retryable=why.retryable)
    return Produced("failed", why=why.message.replace("the evaluator", "run.py"))


def _not_its_doing(kind: str, text: str, *, role: str | None = None, retryable: bool = False) -> NoReturn:
    raise AttemptFailed(failure(Phase.RUN, kind, text, retryable=retryable, role=role))


async def _dead(host: Host) -> None:
    """Kills what still runs, and sees that nothing does. Raises AttemptFailed, as the table of blame says."""
    ended = host.ended
    host.ended = ""
    await host.end(ended or "removed")
    state = await host.state()
    if state is not None and state.running:
        text = "the container of the run phase could not be ended, so nothing may be scored"
        verdict = blame(host.facts(Trouble.STUCK, engine_answers=await works(host.engine)))
        host.stuck = True
        raise AttemptFailed(failure(Phase.RUN, verdict.kind, text, retryable=verdict.retried))


async def _nothing() -> None:
    return


class RunRequests:
    """Serves the requests of one run.py: sessions that are tied to no host, and what it publishes."""

    def __init__(self, shelf: Shelf, agents: Agents | None) -> None:
        self._shelf = shelf
        self._turn = anyio.Lock()
        self._disk = anyio.CapacityLimiter(1)
        self._budget = Budget()
        self._held = Held()
        self.sessions = Sessions(agents)
        self.limit = ""
        self.over = anyio.Event()  # a limit was reached

    def count(self, line: Log | Check) -> None:
        """Counts a line for the journal. Raises ChannelViolation when there are too many, and for checks."""
        if isinstance(line, Check):
            raise ChannelViolation("a check, of which a run phase has none")
        self._budget.spend(line)

    async def admit(self, request: Request) -> None:
        """Waits until there is room for what came with a request."""
        await self._held.admit(request)

    def done(self, request: Request) -> None:
        """The request was answered: nothing of it is held any more."""
        self._held.done(request.id)

    async def answer(self, request: Request, group: TaskGroup) -> Mapping[str, Any] | None:  # noqa: ARG002
        """The value of one reply. Raises as `Sessions.answer` does, and DiskFull."""
        if isinstance(request, Publish):
            # Parts come in order, and whole: who ends the run phase then looks at what lies there.
            with anyio.CancelScope(shield=True):
                async with self._turn:
                    await in_thread(lambda: self._shelf.take(request), self._disk)
            return None
        if isinstance(request, (Session, Invoke, Judge, CloseSession)):
            try:
                return await self.sessions.answer(request)
            except BudgetSpent as error:
                if error.kind or not isinstance(request, (Invoke, Judge)):
                    raise
                # The limit of the task ends the run phase; nobody waits for an answer any more.
                self.limit = INVOCATIONS
                self.over.set()
                await anyio.sleep_forever()
        raise Refused(
            "ScoringError", "scoring hosts are for the evaluator; run.py works in its own container"
        )
