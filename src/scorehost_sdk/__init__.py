"""What an evaluator imports: check rows, scoring hosts and their errors, calls to untrusted code."""

from __future__ import annotations

from scorehost_sdk.checks import evaluation_check
from scorehost_sdk.faults import HostLost, LimitReached, ScoringError, SubmissionFault, UnknownEnvironment
from scorehost_sdk.outcome import ExecResult
from scorehost_sdk.processes import AsyncProcess, Process
from scorehost_sdk.scoring import AsyncScoring, Scoring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scorehost_sdk.calls import untrusted

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
    # Every host compiles what it imports anew, since nothing can be written beside it.
    if name == "untrusted":
        from scorehost_sdk.calls import untrusted  # noqa: PLC0415 - see above

        return untrusted
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
