"""Sessions with agents that a runner asks for: opened, tied to a host or not, called one call at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import anyio

from scorehost.errors import BudgetSpent, CallFailed, ScorehostError
from scorehost.hosts.agents import Agents, AgentSession, UnknownRole, WorkPlace
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.messages import AgentRequest, CloseSession, Invoke, Judge, Session
from scorehost.model.call import object_text

MAX_SESSIONS = 64  # open at a time


class Refused(ScorehostError):
    """A request that cannot be done; it raises `kind` in the evaluator."""

    def __init__(self, kind: Literal["HostLost", "ScoringError", "SubmissionFault"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Told(NamedTuple):
    """A fault of a call, and whose it was."""

    message: str
    role: str


class Premises(Protocol):
    """Where a session may be tied to."""

    async def lend(self, name: str) -> WorkPlace:
        """Takes a host for one session, started now if it must be; nobody else may use it then.

        Raises UnknownEnvironment, Refused, AttemptFailed, EngineError.
        """

    def take_back(self, name: str) -> None:
        """The session is over."""


@dataclass(slots=True)
class _Open:
    role: str
    environment: str | None
    session: AgentSession
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    scope: anyio.CancelScope | None = None
    closed: bool = False


class Sessions:
    """The sessions of one phase. `clock` stands while a call waits for its answer, which has its own limit.

    `told` are the faults that the runner was told, or could see by itself: the last one of each kind.
    """

    def __init__(
        self, agents: Agents | None, *, premises: Premises | None = None, clock: StandingClock | None = None
    ) -> None:
        self._agents = agents
        self._premises = premises
        self._clock = clock
        self._open: dict[int, _Open] = {}
        self.told: dict[str, Told] = {}

    async def answer(self, request: AgentRequest) -> Mapping[str, Any] | None:
        """The value of one reply.

        Raises UnknownRole, UnknownEnvironment, CallFailed, BudgetSpent, Refused, AttemptFailed, EngineError.
        """
        match request:
            case Session():
                await self._begin(request)
                return {"session": request.id}
            case Invoke():
                one = self._session(request.session)
                value = await self._called(one, lambda: one.session.invoke(request.prompt))
                if not object_text(value.get("output")):
                    # One rule for both modes: an evaluator that reads it as an object ends with this fault.
                    text = f"a reply of the role {one.role} is not one JSON object"
                    self.told["adapter_malformed"] = Told(text, one.role)
                return value
            case Judge():
                one = self._session(request.session)
                return await self._called(one, lambda: _judged(one.session, request))
            case CloseSession():
                await self._close(request.session)
                return None

    async def _begin(self, request: Session) -> None:
        if self._agents is None:
            text = (
                f"{request.role[:80]!r}: the task lists no roles (agent_profiles), or the job has none ready"
            )
            raise UnknownRole(text)
        if len(self._open) >= MAX_SESSIONS:
            raise BudgetSpent(f"{MAX_SESSIONS} sessions are open already. Close one first.")
        name, place = request.environment, None
        self._agents.session(request.role, name, None)  # a role that is unknown starts no host
        if name is not None:
            if self._premises is None:
                raise Refused("ScoringError", "in the run phase a session is tied to no host")
            place = await self._premises.lend(name)
        made = self._agents.session(request.role, name, place)
        self._open[request.id] = _Open(request.role, name, made)

    def _session(self, number: int) -> _Open:
        if number not in self._open:
            raise Refused("ScoringError", "there is no such session; it was closed before")
        return self._open[number]

    async def _called(
        self, one: _Open, call: Callable[[], Awaitable[Mapping[str, Any]]]
    ) -> Mapping[str, Any]:
        with nullcontext() if self._clock is None else self._clock.standing():
            async with one.turn:
                if not one.closed:
                    with anyio.CancelScope() as scope:
                        one.scope = scope
                        try:
                            return await call()
                        except (CallFailed, BudgetSpent) as error:
                            self.told[error.kind] = Told(error.message, one.role)
                            raise
                        finally:
                            one.scope = None
        raise Refused("ScoringError", "the session was closed while it was asked")

    async def _close(self, number: int) -> None:
        one = self._open.pop(number, None)
        if one is None:
            return
        one.closed = True
        if one.scope is not None:
            one.scope.cancel()
        if one.environment is not None and self._premises is not None:
            try:
                async with one.turn:  # what its call ran there is ended before anybody else has the host
                    pass
            finally:
                self._premises.take_back(one.environment)


async def _judged(session: AgentSession, request: Judge) -> Mapping[str, Any]:
    try:
        return await session.judge(
            case_id=request.case_id,
            prompt=request.prompt,
            output=request.output,
            assertion=request.assertion,
        )
    except ValueError as error:
        raise Refused("ScoringError", str(error)) from None
