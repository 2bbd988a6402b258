"""What an evaluator asks for, done: execs, open processes, files, resets, sessions with agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup

from scorehost.errors import AttemptFailed, ScorehostError
from scorehost.hosts.agents import Agents, Work, WorkPlace
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.execs import ExecOrder, ExecOutcome, run_exec
from scorehost.hosts.frames import Budget, BudgetSpent
from scorehost.hosts.host import Host
from scorehost.hosts.messages import (
    MAX_PART,
    Close,
    CloseSession,
    CloseStdin,
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
from scorehost.model.failure import Phase, failure
from scorehost.model.ids import EVALUATOR
from scorehost.model.limits import Limits

HELD_BYTES = 256 * 1024 * 1024  # of stdin, over all execs of an attempt that have not ended
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
        self._held = 0
        self._written: set[tuple[str | None, str]] = set()  # files of which more parts are to come
        self._tied: set[str] = set()  # names that a session has for itself
        self._opening: list[str | None] = []
        self.sessions = Sessions(agents, premises=self, clock=clock)

    def count(self, line: Log) -> None:
        """Counts a line for the journal. Raises ChannelViolation when there are too many."""
        self._budget.spend(line)

    async def answer(self, request: Request, group: TaskGroup) -> Mapping[str, Any] | None:
        """The value of one reply.

        Raises UnknownEnvironment, UnknownRole, CallFailed, BudgetSpent, Refused, AttemptFailed, EngineError.
        """
        if isinstance(request, (Session, Invoke, Judge, CloseSession)):
            return await self.sessions.answer(request)
        if isinstance(request, (Exec, Open, Reset, WriteFile, ReadFile)) and request.name in self._tied:
            text = f"a session is tied to {request.name}: end it before the host is used in another way"
            raise Refused("ScoringError", text)
        if isinstance(request, Publish):
            raise Refused("ScoringError", "artifacts are published in the run phase only")
        if isinstance(request, (Exec, Open, Reset)):
            self._budget.spend(request)
        return await self._done(request, group)

    async def _done(  # noqa: C901 - one arm for each request
        self, request: Request, group: TaskGroup
    ) -> Mapping[str, Any] | None:
        match request:
            case Exec():
                with self._holding(len(request.stdin or b"")):
                    return _told(await self._exec(request.name, self._order(request)))
            case Open():
                self._opening.append(request.name)
                try:
                    return {"process": await self._open(request, group)}
                except ScorehostError:
                    self._budget.closed()
                    raise
                finally:
                    self._opening.remove(request.name)
            case Send():
                await self._process(request.process).send(request.data)
            case CloseStdin():
                await self._process(request.process).close_stdin()
            case Receive():
                out, err, ended = await self._process(request.process).receive(request.timeout)
                return {"stdout": out, "stderr": err, "ended": ended}
            case Wait():
                outcome = await self._process(request.process).wait(request.timeout)
                return None if outcome is None else _told(outcome)
            case Close():
                await self._close(request.process)
            case Reset():
                await self._reset(request.name)
            case WriteFile():
                await self._write(request)
            case ReadFile():
                return await self._read(request)
        return None

    @contextmanager
    def _holding(self, size: int) -> Iterator[None]:
        """Counts the stdin of execs that wait for their turn: it lies in this process's memory."""
        if size and self._held + size > HELD_BYTES:
            raise BudgetSpent(f"execs with {self._held} bytes of stdin wait already; await some of them")
        self._held += size
        try:
            yield
        finally:
            self._held -= size

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

        async def work(asked: Work) -> ExecOutcome:
            request = Exec(kind="exec", id=1, name=name, argv=asked.argv, timeout=asked.seconds)
            self._budget.spend(request)
            with self._holding(len(asked.stdin or b"")):
                order = replace(self._order(request), stdin=asked.stdin)
                return await self._named.exec(name, order)

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

    async def _exec(self, name: str | None, order: ExecOrder, *, filed: bool = True) -> ExecOutcome:
        if not self._is_beside(name):
            return await self._named.exec(name, order, filed=filed)
        async with self._beside:
            outcome = await run_exec(self._host, order, self._kill_beside)
        if filed:
            self._named.file(EVALUATOR, outcome)
        return outcome

    async def _kill_beside(self) -> None:
        """Kills every process of the exec user in the evaluator's own host; the engine cannot end an exec."""
        order = ExecOrder(_KILL_ALL, KILL_SECONDS, 1024)
        for _ in range(KILL_TRIES):
            outcome = await run_exec(self._host, order, _nothing)
            self._host.execs -= 1
            if outcome.exit_code == 0:
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

    async def _write(self, request: WriteFile) -> None:
        target = (request.name, request.path)
        append = ("oflag=append", "conv=notrunc") if target in self._written else ()
        self._written.discard(target)
        argv = ("dd", f"of={request.path}", "status=none", *append)
        order = ExecOrder(argv, self._limits.exec_seconds, 4096, stdin=request.data)
        outcome = await self._exec(request.name, order, filed=False)
        _expect_done(outcome, f"{request.path} cannot be written")
        if request.more:
            self._written.add(target)

    async def _read(self, request: ReadFile) -> Mapping[str, Any]:
        argv = (
            "dd",
            f"if={request.path}",
            "iflag=fullblock,skip_bytes",
            f"skip={request.offset}",
            f"bs={MAX_PART}",
            "count=1",
            "status=none",
        )
        outcome = await self._exec(
            request.name, ExecOrder(argv, self._limits.exec_seconds, 2 * MAX_PART), filed=False
        )
        _expect_done(outcome, f"{request.path} cannot be read")
        return {"data": outcome.stdout, "ended": len(outcome.stdout) < MAX_PART}


def _told(outcome: ExecOutcome) -> Mapping[str, Any]:
    return {
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "truncated": outcome.truncated,
        "timed_out": outcome.timed_out,
        "oom_killed": outcome.oom_killed,
        "host_lost": outcome.host_lost,
        "duration_seconds": outcome.duration_seconds,
    }


def _expect_done(outcome: ExecOutcome, what: str) -> None:
    if outcome.host_lost:
        raise Refused("HostLost", f"{what}: the host ended")
    if outcome.timed_out or outcome.exit_code != 0:
        said = outcome.stderr.decode("utf-8", "replace").strip()[-300:]
        raise Refused("ScoringError", f"{what}: {said or outcome.exit_code}")


async def _nothing() -> None:
    return
