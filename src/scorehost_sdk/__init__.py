"""What an evaluator imports: check rows, scoring hosts, agents, their errors, calls to untrusted code."""

from __future__ import annotations

from scorehost_sdk.checks import check, evaluation_check
from scorehost_sdk.faults import (
    AdapterFault,
    ArgumentError,
    HostLost,
    LimitReached,
    ReplyError,
    ScoringError,
    SubmissionError,
    SubmissionFault,
    UnknownEnvironment,
    UnknownRole,
)
from scorehost_sdk.outcome import ExecResult
from scorehost_sdk.processes import AsyncProcess, Process
from scorehost_sdk.scoring import AsyncScoring, Scoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorehost_sdk.agents import Agent, AsyncAgent, AsyncSession, Session
    from scorehost_sdk.calls import untrusted
    from scorehost_sdk.context import AsyncContext, Context
    from scorehost_sdk.instances import as_instance
    from scorehost_sdk.replies import Judgement, Reply

__all__ = [
    "AdapterFault",
    "Agent",
    "ArgumentError",
    "AsyncAgent",
    "AsyncContext",
    "AsyncProcess",
    "AsyncScoring",
    "AsyncSession",
    "Context",
    "ExecResult",
    "HostLost",
    "Judgement",
    "LimitReached",
    "Process",
    "Reply",
    "ReplyError",
    "Scoring",
    "ScoringError",
    "Session",
    "SubmissionError",
    "SubmissionFault",
    "UnknownEnvironment",
    "UnknownRole",
    "as_instance",
    "check",
    "evaluation_check",
    "untrusted",
]

_LATER = {
    "as_instance": "instances",
    "untrusted": "calls",
    "Agent": "agents",
    "AsyncAgent": "agents",
    "AsyncContext": "context",
    "AsyncSession": "agents",
    "Context": "context",
    "Judgement": "replies",
    "Reply": "replies",
    "Session": "agents",
}


def __getattr__(name: str) -> object:
    # Every host compiles what it imports anew, since nothing can be written beside it.
    if name in _LATER:
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module("scorehost_sdk." + _LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
