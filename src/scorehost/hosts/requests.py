"""What an evaluator asks for, done: execs, open processes, files, resets, sessions with agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import anyio
from anyio.abc import TaskGroup

from scorehost.errors import AttemptFailed
from scorehost.hosts.agents import Agents, Work, WorkPlace
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.exec_ends import NotStarted
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.frames import Budget
from scorehost.hosts.held import Held
from scorehost.hosts.host import Host
from scorehost.hosts.messages import (
    MAX_PART,
    Cancel,
    Check,
    Close,
    CloseSession,
    CloseStdin,
    Cpu,
    Exec,
    Invoke,
    Judge,
    Log,
    Open,
    Publish,
    ReadFile,
    Receive,
    Request,
    Reset,
    Send,
    Session,
    Wait,
    WriteFile,
)
from scorehost.hosts.named import NamedHosts, UnknownEnvironment
from scorehost.hosts.processes import Process
from scorehost.hosts.sessions import Refused, Sessions
from scorehost.hosts.transfers import Stay, Transfers
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import Phase, failure
from scorehost.model.ids import EVALUATOR
from scorehost.model.limits import Limits

KILL_TRIES = 5
KILL_SECONDS = 5.0
_KILL_ALL = ("python3", "-S", "-c", "import os; os.kill(-1, 9)")


class Requests:
    """Serves the requests of one evaluator. `single`: the task has no map, work goes beside the evaluator.

    `agents` None: the task lists no roles. `clock` stands while an agent is asked.
    """

    def __init__(
        self,
        named: NamedHosts,
        host: Host,
        *,
        single: bool,
        limits: Limits,
        agents: Agents | None = None,
        clock: StandingClock | None = None,
    ) -> None:
        self._named = named
        self._host = host
        self._single = single
        self._limits = limits
        self._budget = Budget()
        self._processes: dict[int, Process] = {}
        self._beside = anyio.Lock()
        self.held = Held()
        self._works = count(-1, -1)  # numbers of execs that agents ask for: no request has one of them
        self._asked: dict[int, anyio.CancelScope] = {}
        self._transfers = Transfers(self._exec, limits.exec_seconds)
        self._tied: set[str] = set()  # names that a session has for itself
        self._opening: list[str | None] = []
        self.sessions = Sessions(agents, premises=self, clock=clock)

    def count(self, line: Log | Check) -> None:
        """Counts a line for the journal or a row of checks. Raises ChannelViolation: too many."""
        self._budget.spend(line)

    async def admit(self, request: Request) -> None:
        """Waits until there is room for what came with a request."""
        await self.held.admit(request)

    def done(self, request: Request) -> None:
        """The request was answered: nothing of it is held any more."""
        self.held.done(request.id)

    async def answer(self, request: Request, group: TaskGroup) -> Mapping[str, Any] | None:
        """The value of one reply; None, which nobody waits for, when it was cancelled.

        Raises UnknownEnvironment, UnknownRole, CallFailed, BudgetSpent, Refused, AttemptFailed, EngineError.
        """
        if isinstance(request, Cancel):
            await self._cancel(request.request)
            return None
        with anyio.CancelScope() as scope:
            self._asked[request.id] = scope
            try:
                return await self._answered(request, group)
            except NotStarted as error:
                raise _refused(error) from error
            finally:
                del self._asked[request.id]
        return None

    async def _cancel(self, number: int) -> None:
        """Ends what a request began; also what it opened, when its answer came too late to be taken."""
        if number in self._asked:
            self._asked[number].cancel()
        elif number in self._processes:
            await self._close(number)
        else:
            await self.sessions.answer(CloseSession(kind="close_session", id=number, session=number))

    async def _answered(self, request: Request, group: TaskGroup) -> Mapping[str, Any] | None:
        if isinstance(request, (Session, Invoke, Judge, CloseSession)):
            return await self.sessions.answer(request)
        if isinstance(request, (Exec, Open, Reset, WriteFile, ReadFile)) and request.name in self._tied:
            text = f"a session is tied to {request.name}: end it before the host is used in another way"
            raise Refused("ScoringError", text)
        if isinstance(request, Cpu):
            return {"seconds": await self._named.cpu_seconds(request.name)}
        if isinstance(request, Publish):
            raise Refused("ScoringError", "artifacts are published in the run phase only")
        if isinstance(request, (Exec, Open, Reset)):
            self._budget.spend(request)
        return await self._done(request, group)

    async def _done(  # noqa: C901, PLR0911 - one arm for each request
        self, request: Request, group: TaskGroup
    ) -> Mapping[str, Any] | None:
        match request:
            case Exec():
                return (await self._exec(request, self._order(request))).wire()
            case Open():
                self._opening.append(request.name)
                try:
                    return {"process": await self._open(request, group)}
                except BaseException:
                    self._budget.closed()
                    raise
                finally:
                    self._opening.remove(request.name)
            case Send():
                self.held.check(request)
                await self._process(request.process).send(request.data)
            case CloseStdin():
                await self._process(request.process).close_stdin()
            case Receive():
                out, err, ended = await self._process(request.process).receive(request.timeout)
                return {"stdout": out, "stderr": err, "ended": ended}
            case Wait():
                outcome = await self._process(request.process).wait(request.timeout)
                return None if outcome is None else outcome.wire()
            case Close():
                await self._close(request.process)
            case Reset():
                await self._reset(request.name)
            case WriteFile():
                return await self._transfers.write(request)
            case ReadFile():
                return await self._transfers.read(request)
        return None

    async def lend(self, name: str) -> WorkPlace:
        """A named host for one session alone; see `Premises`."""
        self._is_beside(name)
        plan = self._named.blueprint(name)
        open_there = any(process.host.blueprint.name == name for process in self._processes.values())
        if name in self._tied or name in self._opening or open_there or self._named.busy(name):
            text = f"{name} is in use (an exec, an open process or another session): end that first"
            raise Refused("ScoringError", text)
        self._tied.add(name)
        try:
            host = await self._named.running(plan.name)
        except BaseException:
            self._tied.discard(name)
            raise
        if host is None:
            self._tied.discard(name)
            raise Refused("HostLost", f"the host {name} ended too often and is not started again")

        async def work(asked: Work) -> ExecResult:
            number = next(self._works)
            request = Exec(kind="exec", id=1, name=name, argv=asked.argv, timeout=asked.seconds)
            self._budget.spend(request)
            order = replace(self._order(request), stdin=asked.stdin)
            await self.held.replying(number, len(asked.stdin or b"") + 2 * order.keep)
            try:
                return await self._named.exec(name, order)
            except NotStarted as error:
                raise _refused(error) from error
            finally:
                self.held.done(number)

        return work

    def take_back(self, name: str) -> None:
        """The session that had the host is over."""
        self._tied.discard(name)

    def _is_beside(self, name: str | None) -> bool:
        if self._single and name is None:
            return True
        if self._single:
            raise UnknownEnvironment(
                f"{name!r}: this task has a single scoring environment; leave the name out (None)"
            )
        return False

    def _order(self, request: Exec | Open, *, stdin: bytes | None = None) -> ExecOrder:
        beside = self._is_beside(request.name)
        limits = self._limits if beside else self._named.blueprint(request.name).limits
        asked = request.timeout if isinstance(request, Exec) else None
        return ExecOrder(
            argv=request.argv,
            seconds=limits.exec_seconds if asked is None else min(asked, limits.exec_seconds),
            keep=limits.output_bytes,
            stdin=request.stdin if isinstance(request, Exec) else stdin,
            env=request.env or {},
            workdir=request.workdir,
        )

    async def _exec(
        self, request: Exec | WriteFile | ReadFile, order: ExecOrder, stay: Stay | None = None
    ) -> ExecResult:
        """Runs one program for a request, once there is room for what it may print. One that moves a part of
        a file, in the host of a `stay`, is no exec of the evaluator's, and what it prints is not kept.
        """
        room = MAX_PART if isinstance(request, ReadFile) else 2 * order.keep
        await self.held.replying(request.id, room)
        if not self._is_beside(request.name):
            done = await self._named.exec(request.name, order, filed=stay is None, stay=stay)
        else:
            done = await self._exec_beside(request.id, order)
            if stay is None:
                self._named.file(EVALUATOR, done)
        self.held.made(request.id, room - len(done.stdout) - len(done.stderr))
        return done

    async def _exec_beside(self, number: int, order: ExecOrder) -> ExecResult:
        async def cut_off() -> None:
            # Else the evaluation ends, and the host of both goes with it.
            if self._asked[number].cancel_called:
                await self._kill_beside()

        async with self._beside:
            return await run_exec(self._host, order, self._kill_beside, cut_off)

    async def _kill_beside(self) -> None:
        """Kills every process of the exec user in the evaluator's own host; the engine cannot end an exec."""
        order = ExecOrder(_KILL_ALL, KILL_SECONDS, 1024)
        for _ in range(KILL_TRIES):
            try:
                outcome = await run_exec(self._host, order, _nothing)
            except NotStarted:  # no process could be made; one of those that run may end
                continue
            finally:
                self._host.execs -= 1
            if outcome.exit_code == 0 or outcome.host_lost:
                return
        await self._host.end("lost")
        # What runs there is the submission's doing, and must not count as trouble of the environment.
        limit = self._limits.pids
        text = f"processes beside the evaluator could not be ended; its host may have {limit} (limits.pids)"
        raise AttemptFailed(failure(Phase.EVALUATE, "submission_fault", text))

    async def _open(self, request: Open, group: TaskGroup) -> int:
        order = self._order(request, stdin=b"")
        if self._is_beside(request.name):
            return await self._begin(request.id, Process(self._host, order, self._kill_beside), group)
        async with self._named.opening(request.name) as host:

            async def end_host() -> None:
                await self._named.end_for_close(host)

            return await self._begin(request.id, Process(host, order, end_host), group)

    async def _begin(self, number: int, process: Process, group: TaskGroup) -> int:
        if await group.start(process.run) is None:
            raise Refused(
                "HostLost", f"the host {process.host.blueprint.name} ended before the process began"
            )
        self._processes[number] = process
        return number

    def _process(self, number: int) -> Process:
        if number not in self._processes:
            raise Refused("ScoringError", "there is no such open process; it was closed before")
        return self._processes[number]

    async def _close(self, number: int) -> None:
        process = self._process(number)
        await process.close()
        if self._processes.pop(number, None) is not None:
            self._budget.closed()

    async def _reset(self, name: str | None) -> None:
        if self._is_beside(name):
            raise Refused(
                "ScoringError", "the evaluator's own host cannot be reset; declare a named environment"
            )
        await self._named.reset(name)


def _refused(error: NotStarted) -> Refused:
    if error.by_whom_ran:
        return Refused("SubmissionFault", f"what ran in the host before left it no room: {error.message}")
    return Refused("ScoringError", error.message)


async def _nothing() -> None:
    return
