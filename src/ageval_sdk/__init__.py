"""What evaluator.py and run.py of the ageval layout import: `scorehost_sdk`, and that layout's own names."""

from __future__ import annotations

import scorehost_sdk
from scorehost_sdk import (
    AdapterFault,
    ArgumentError,
    AsyncProcess,
    AsyncScoring,
    ExecResult,
    HostLost,
    LimitReached,
    Process,
    ReplyError,
    Scoring,
    ScoringError,
    SubmissionError,
    SubmissionFault,
    UnknownEnvironment,
    UnknownRole,
    check,
    evaluation_check,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ageval_sdk.context import RunContext, RunScope
    from ageval_sdk.parameters import RunParameterView
    from ageval_sdk.sessions import Agent, AgentSession
    from ageval_sdk.terminal import RunTerminal
    from ageval_sdk.tools import AllowList, CallLimit, Tool, ToolSet
    from scorehost_sdk import (
        AsyncAgent,
        AsyncContext,
        AsyncSession,
        Context,
        Judgement,
        Reply,
        Session,
        as_instance,
        untrusted,
    )

__all__ = [
    "AdapterFault",
    "Agent",
    "AgentSession",
    "AllowList",
    "ArgumentError",
    "AsyncAgent",
    "AsyncContext",
    "AsyncProcess",
    "AsyncScoring",
    "AsyncSession",
    "CallLimit",
    "Context",
    "ExecResult",
    "HostLost",
    "Judgement",
    "LimitReached",
    "Process",
    "Reply",
    "ReplyError",
    "RunContext",
    "RunParameterView",
    "RunScope",
    "RunTerminal",
    "Scoring",
    "ScoringError",
    "Session",
    "SubmissionError",
    "SubmissionFault",
    "Tool",
    "ToolSet",
    "UnknownEnvironment",
    "UnknownRole",
    "as_instance",
    "check",
    "evaluation_check",
    "untrusted",
]

_OWN = {
    "Agent": "sessions",
    "AgentSession": "sessions",
    "AllowList": "tools",
    "CallLimit": "tools",
    "RunContext": "context",
    "RunParameterView": "parameters",
    "RunScope": "context",
    "RunTerminal": "terminal",
    "Tool": "tools",
    "ToolSet": "tools",
}


def __getattr__(name: str) -> object:
    # Few need these, and every host compiles what it imports anew.
    if name in _OWN:
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module("ageval_sdk." + _OWN[name]), name)
    if name in __all__:
        return getattr(scorehost_sdk, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
