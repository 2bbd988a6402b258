"""The other name of `scorehost_sdk`, for datasets in the ageval layout."""

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
    from scorehost_sdk import (
        Agent,
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


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(scorehost_sdk, name)  # few need it, and it takes time to load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
