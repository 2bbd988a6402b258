"""The named hosts of an attempt: started at first use, replaced when they ended, all removed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import anyio

from scorehost.aio.groups import task_group
from scorehost.errors import AttemptFailed, EngineRefused, EngineTimeout, ScorehostError
from scorehost.hosts.blueprint import ROOT, STAGED_WORKSPACE, WORKSPACE, Blueprint
from scorehost.hosts.cargo import Cargo
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.exec_ends import NotStarted, gone, refuse_lost_by_others, told_of_trouble
from scorehost.hosts.exec_words import warning_of
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.host import Host, Site
from scorehost.hosts.images import Images
from scorehost.hosts.judgement import NOT_EXECUTABLE, NOT_FOUND, UNUSABLE_CODES
from scorehost.hosts.live import live_host
from scorehost.hosts.sessions import Refused
from scorehost.hosts.transfers import Stay
from scorehost.hosts.usage import read_usage
from scorehost.hosts.warm import WarmHosts
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import Phase, failure
from scorehost.model.result import HostUsage

REPLACEMENTS = 3
LOST = ExecResult(exit_code=None, host_lost=True, reason="lost")


class UnknownEnvironment(ScorehostError):
    """The evaluator named an environment that its task does not declare."""


@dataclass(slots=True)
class _Slot:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    starting: anyio.Lock = field(default_factory=anyio.Lock)
    host: Host | None = None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    replaced: int = 0
    forgiven: bool = False  # its end was asked for by the evaluator: does not count as a replacement


class NamedHosts:
    """All named hosts of one attempt. `keep` files what an exec printed; `clock` stands while one starts."""

    def __init__(
        self,
        site: Site,
        *,
        blueprints: Mapping[str, Blueprint],
        images: Images,
        cargo: Cargo,
        clock: StandingClock,
        keep: Callable[[str, ExecResult], None],
        warm: WarmHosts | None = None,
    ) -> None:
        self._site = site
        self._blueprints = blueprints
        self._images = images
        self._cargo = cargo
        self._clock = clock
        self._keep = keep
        self._warm = warm
        self._slots = {name: _Slot() for name in blueprints}
        self._hosts: list[Host] = []
        self._counts: dict[str, int] = {}

    def blueprint(self, name: str | None) -> Blueprint:
        """The declared environment. Raises UnknownEnvironment, with the names that there are."""
        if name is None or name not in self._blueprints:
            known = ", ".join(sorted(self._blueprints)) or "none"
            asked = "no name was given" if name is None else f"{name!r} is not one"
            raise UnknownEnvironment(f"{asked} of the task's scoring environments: {known}")
        return self._blueprints[name]

    async def exec(
        self, name: str | None, order: ExecOrder, *, filed: bool = True, stay: Stay | None = None
    ) -> ExecResult:
        """Runs a process in a named host; calls on one name queue. Starts the host when it must. What it
        prints is kept when `filed`. With `stay` it runs in that host or nowhere, which is told as its loss.

        Raises UnknownEnvironment, Refused (a fresh name in which a process is open, a host that ended
        unseen), NotStarted, AttemptFailed, EngineUnreachable, EngineTimeout.
        """
        plan = self.blueprint(name)
        slot = self._slots[plan.name]
        async with slot.lock:
            if stay is not None and stay.host is not None and not await self._stands(slot, stay.host):
                return LOST
            if plan.fresh and filed:
                await self._renew(plan, slot)
            host = await self.running(plan.name)
            if stay is not None:
                stay.host = host
            outcome = LOST if host is None else await self._run(host, order)
            if filed:
                self.file(plan.name, outcome)
        return outcome

    async def _stands(self, slot: _Slot, host: Host) -> bool:
        """Whether a name still has that host, and it runs; else its end is told by whoever asked."""
        if slot.host is host and not host.ended and not await self._died(host):
            return True
        if slot.host is host and not host.told:
            await refuse_lost_by_others(host)
        host.told = True
        return False

    @asynccontextmanager
    async def opening(self, name: str | None) -> AsyncIterator[Host]:
        """The host in which a process is to be opened inside the block, running.

        A fresh name gives a new host, and its execs wait until the process runs: then they are refused.
        Raises as `exec` does, and Refused when the host ended too often.
        """
        plan = self.blueprint(name)
        slot = self._slots[plan.name]
        async with AsyncExitStack() as turn:
            if plan.fresh:
                await turn.enter_async_context(slot.lock)
                await self._renew(plan, slot)
            host = await self.running(plan.name)
            if host is None:
                raise Refused("HostLost", f"the host {plan.name} ended too often and is not started again")
            yield host

    async def _renew(self, plan: Blueprint, slot: _Slot) -> None:
        """Lets the next use of a fresh name start a new host. What is open there is not killed unasked."""
        host = slot.host
        if host is None or (not host.execs and not host.ended):
            return  # the next, or this, is new
        if host.opened and not host.ended:
            text = f"a process is open in {plan.name}, and `fresh: true` gives every use a host of its own"
            raise Refused("ScoringError", f"{text}: close that first, or use another environment")
        await self._retire(slot, "reset")

    def busy(self, name: str) -> bool:
        """Whether an exec or a reset of that name is under way, or waits for its turn."""
        return self._slots[name].lock.locked()

    async def _run(self, host: Host, order: ExecOrder) -> ExecResult:
        async def end_host() -> None:
            await host.end("timed_out")

        async def cut_off() -> None:
            host.told = True  # whoever asked for the program gave it up
            await host.end("cut_off")

        try:
            outcome = await run_exec(host, order, end_host, cut_off)
        except NotStarted as error:
            if error.by_whom_ran:  # the next use is clean
                host.told = True
                await host.end("lost")
            raise
        host.told = host.told or outcome.host_lost or outcome.timed_out
        return outcome

    def file(self, name: str, outcome: ExecResult) -> None:
        """Keeps what a process of a host printed, numbered by host from 1."""
        number = self._counts[name] = self._counts.get(name, 0) + 1
        self._keep(f"{name}.{number}", outcome)
        if text := warning_of(name, outcome):
            self._site.warn_once(text)

    async def running(self, name: str) -> Host | None:
        """The running host of a name, started now when it must be; None when it ended too often.

        Raises Refused (HostLost), once, when the one before ended and nobody was told: what the evaluator
        left in it is gone, and it may look for that.
        """
        slot = self._slots[name]
        async with slot.starting:
            if slot.host is not None and (slot.host.ended or await self._died(slot.host)):
                before = slot.host
                if not before.told:
                    await refuse_lost_by_others(before)
                await self._retire(slot, "lost")
                if not slot.forgiven:
                    slot.replaced += 1
                slot.forgiven = False
                if not before.told:
                    self._tell_of_loss(before)
            if slot.host is None:
                if slot.replaced > REPLACEMENTS:
                    return None
                with self._clock.standing():
                    slot.host = await self._start(self._blueprints[name], slot)
            return slot.host

    def _tell_of_loss(self, host: Host) -> None:
        why = {"oom": "it ran out of memory", "output_limit": "its programs printed too much"}.get(host.ended)
        text = f"the host {host.blueprint.name} ended between two uses ({why or 'its container was lost'})"
        self._site.warn(f"{text}; the evaluator was told at the next use")
        raise Refused(
            "HostLost", f"{text}: what was in it is gone, and nothing was run; the next use is clean"
        )

    async def _died(self, host: Host) -> bool:
        if host.memory.restarted(host.container):  # it runs, and what was left in it is gone
            host.ended = host.ended or "lost"
            return True
        try:
            return host.execs > 0 and await gone(host)
        except (EngineRefused, EngineTimeout) as error:
            await told_of_trouble(host, error, ran=host.ran)
            return True

    async def _start(self, plan: Blueprint, slot: _Slot) -> Host:
        image = await self._images.resolve(plan.image, build_seconds=plan.limits.build_seconds)
        async with AsyncExitStack() as stack:
            opened = live_host(self._site, plan, image, self._cargo, warm=self._warm, met=self._hosts.append)
            with self._images.using(image):
                live = await stack.enter_async_context(opened)
                host = live.host
                host.clock = self._clock
                if (image.id, _place(plan)) not in self._images.proven:
                    await self._prove(host)
            if emulated := self._images.emulated(image):
                self._site.warn_once(emulated)
            if plan.copy_workspace:
                await self._copy_workspace(host)
            slot.stack = stack.pop_all()
        return host

    async def _prove(self, host: Host) -> None:
        """Says at an image's first host whether `sleep` can run there, where its execs begin: else its hosts
        end as they start, or every exec fails for a reason that no submission has.
        """
        name, workdir = host.blueprint.name, _place(host.blueprint)
        try:
            outcome = await self._prepare(host, ("sleep", "0"), workdir=workdir)
        except NotStarted as error:
            text = f"{host.image_words} of {name} cannot run a program in {workdir}: {error.message}"
            hint = f"Make {workdir} in a recipe of the image, or give {name} another `workdir`."
            hint = "" if workdir == "/" else hint
            raise AttemptFailed(failure(Phase.START, "image_unusable", text, hint=hint)) from error
        if outcome.exit_code == 0:
            self._images.proven.add((host.image.id, workdir))
            return
        if outcome.timed_out:
            seconds = host.blueprint.limits.start_seconds
            text = f"the host {name} was not ready within {seconds:g} s"
            raise AttemptFailed(failure(Phase.START, "start_timeout", text))
        code = outcome.exit_code
        if outcome.host_lost:
            state = await host.state()
            if outcome.oom_killed or state is None or state.exit_code is None:
                return  # it ended for another reason: told at its use
            code = state.exit_code
        text = f"`sleep` of {host.image_words} of {name} {_why_not(code)}"
        raise AttemptFailed(failure(Phase.START, "image_unusable", text))

    async def _copy_workspace(self, host: Host) -> None:
        """Fills the writable copy. One that does not fit into memory or time is the submission's doing, and
        must not leave the mean as trouble of the environment: the host ends, and its use is told so.
        """
        argv = ("cp", "-R", f"{ROOT}/{STAGED_WORKSPACE}/.", f"{ROOT}/{WORKSPACE}")
        outcome = await self._prepare(host, argv)
        if outcome.exit_code == 0:
            return
        name = host.blueprint.name
        if outcome.exit_code in UNUSABLE_CODES:
            said = outcome.stderr.decode("utf-8", "replace").strip()[-300:]
            text = f"{host.image_words} of {name} cannot run `cp`: {said}"
            raise AttemptFailed(failure(Phase.START, "image_unusable", text))
        self._site.warn(f"the workspace could not be copied into {name} (exit status {outcome.exit_code})")
        await host.end("oom" if outcome.oom_killed else "lost")

    async def _prepare(self, host: Host, argv: tuple[str, ...], *, workdir: str = "/") -> ExecResult:
        """Runs a program before the evaluator runs any; it counts as no exec."""

        async def end_host() -> None:
            await host.end("timed_out")

        seconds = host.blueprint.limits.start_seconds
        outcome = await run_exec(host, ExecOrder(argv, seconds, 4096, workdir=workdir), end_host)
        host.execs = 0
        return outcome

    async def reset(self, name: str | None) -> None:
        """Ends a named host; its next use starts a clean one. Does not count as a replacement."""
        slot = self._slots[self.blueprint(name).name]
        async with slot.lock, slot.starting:
            await self._retire(slot, "reset")

    async def end_for_close(self, host: Host) -> None:
        """Ends a host because a process in it had to be ended: the evaluator's wish, so it is forgiven."""
        slot = self._slots[host.blueprint.name]
        if slot.host is host and not host.ended:
            slot.forgiven = host.told = True
            await host.end("reset")

    async def _retire(self, slot: _Slot, why: str) -> None:
        host, slot.host = slot.host, None
        if host is None:
            return
        if not host.ended:
            host.ended = why
        stack, slot.stack = slot.stack, AsyncExitStack()
        await stack.aclose()

    def reports(self) -> tuple[HostUsage, ...]:
        """Every host that ran, in order of start."""
        return tuple(host.report() for host in self._hosts)

    async def read_usage(self) -> None:
        """Reads the usage of the hosts that still run."""

        async def read(host: Host) -> None:
            usage = await read_usage(self._site.engine, host.container, host.users.main, running=True)
            host.usage = usage

        async with task_group() as group:
            for slot in self._slots.values():
                if slot.host is not None and not slot.host.ended:
                    group.start_soon(read, slot.host)

    async def cpu_seconds(self, name: str | None) -> float | None:
        """CPU time of the host that runs under a name; None where there is none, or nobody can tell."""
        host = self._slots[self.blueprint(name).name].host
        if host is None or host.ended:
            return None
        return (
            await read_usage(self._site.engine, host.container, host.users.main, running=True)
        ).cpu_seconds

    def have_served(self) -> None:
        """The evaluator has ended: nobody waits for their removal."""
        for host in self._hosts:
            host.served = True

    async def remove(self) -> None:
        """Removes all that are left, side by side. What the engine says against it becomes a warning."""
        with anyio.CancelScope(shield=True):
            async with task_group() as group:
                for slot in self._slots.values():
                    group.start_soon(self._retire, slot, "removed")


def _why_not(code: int | None) -> str:
    if code == NOT_FOUND:
        return "is not there, and a named host needs it to wait"
    if code == NOT_EXECUTABLE:
        return "may not be run, or is not made for this machine"
    return f"ends at once with exit status {code}: it is broken, or made for another machine"


def _place(plan: Blueprint) -> str:
    """Where execs of a plan begin, as far as that is the image's matter: below ROOT a submission may lie."""
    return "/" if plan.workdir == ROOT or plan.workdir.startswith(f"{ROOT}/") else plan.workdir
