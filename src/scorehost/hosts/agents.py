"""What hosts need of agents: sessions that answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from scorehost.errors import ScorehostError
from scorehost.model.exec_result import ExecResult


class UnknownRole(ScorehostError):
    """The task does not list the role, or the job's profile does not let it play in this phase."""


@dataclass(frozen=True, slots=True)
class Work:
    """A program that an agent asks for in the host that its session is tied to. Seconds; None: the limit."""

    argv: tuple[str, ...]
    stdin: bytes | None = None
    seconds: float | None = None


WorkPlace = Callable[[Work], Awaitable[ExecResult]]
"""Runs a program in the host of a session. Raises BudgetSpent, AttemptFailed, EngineError."""


class AgentSession(Protocol):
    """One conversation.

    Both calls give the value of a reply frame: `request_id`, `input_tokens`, `output_tokens` (None: not told)
    and `output`, or `status` and `reason`. They raise CallFailed, BudgetSpent, and what the place raises.
    """

    async def invoke(self, prompt: str) -> Mapping[str, Any]:
        """One turn."""

    async def judge(
        self, *, case_id: str, prompt: str, output: str, assertion: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """One assertion about one output. ValueError says what is wrong with the assertion."""


class Agents(Protocol):
    """The agents of one phase of an attempt."""

    def session(self, role: str, environment: str | None, place: WorkPlace | None) -> AgentSession:
        """A session, which costs nothing before its first call. Raises UnknownRole."""
