"""The other name of `scorehost_sdk`, for datasets in the ageval layout."""

from __future__ import annotations

from scorehost_sdk import (
    AsyncProcess,
    AsyncScoring,
    ExecResult,
    HostLost,
    LimitReached,
    Process,
    Scoring,
    ScoringError,
    SubmissionFault,
    UnknownEnvironment,
    evaluation_check,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorehost_sdk import untrusted

__all__ = [
    "AsyncProcess",
    "AsyncScoring",
    "ExecResult",
    "HostLost",
    "LimitReached",
    "Process",
    "Scoring",
    "ScoringError",
    "SubmissionFault",
    "UnknownEnvironment",
    "evaluation_check",
    "untrusted",
]


def __getattr__(name: str) -> object:
    if name == "untrusted":
        from scorehost_sdk import untrusted  # noqa: PLC0415 - few need it, and it takes time to load

        return untrusted
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
