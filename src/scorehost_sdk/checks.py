"""Rows of checks.json."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from scorehost_sdk.outcome import ExecResult

_tellers: List[Callable[[Dict[str, Any]], None]] = []  # the evaluation that is under way, if any


def tell_by(teller: Optional[Callable[[Dict[str, Any]], None]]) -> None:
    """From now on `teller` takes what `check` makes; None: nobody does."""
    _tellers[:] = [] if teller is None else [teller]


def check(id: str, *, status: str, **fields: Any) -> Dict[str, Any]:  # noqa: A002 - the format's word
    """A row as `evaluation_check` makes it, which counts at once.

    It is kept whatever becomes of the evaluation: an exception, a time-out, the end of its host. It need not
    be returned; a row of the returned `checks` with the same id takes its place. The first of two that are
    told under one id stands.
    """
    row = evaluation_check(id, status=status, **fields)
    for teller in _tellers:
        teller(row)
    return row


def evaluation_check(
    id: str,  # noqa: A002 - the format's word
    *,
    title: str = "",
    status: str,
    script: Optional[str] = None,
    environment: Optional[str] = None,
    exec_result: Optional[ExecResult] = None,
    message: str = "",
    details: Any = None,
    score: Optional[float] = None,
    max_score: Optional[float] = None,
    weight: Optional[float] = None,
    severity: Optional[str] = None,
    recommendation: Optional[str] = None,
    evidence_refs: Sequence[str] = (),
    visibility: str = "private",
    tags: Sequence[str] = (),
) -> Dict[str, Any]:
    """A row for `checks` of the returned value.

    `id` is unique in the attempt; `status` is PASS, FAIL, ERROR or SKIP; `script` a path in the dataset,
    relative to the task or starting with `tasks/`; `details` any JSON value; `visibility` "private", or
    "public" when title and message may leave the job. Nothing is judged here: a bad row is left out later,
    with a warning, and changes no verdict.
    """
    return {
        "id": id,
        "title": title,
        "status": status,
        "script": script,
        "environment": environment,
        "exec": None if exec_result is None else _exec(exec_result),
        "message": message,
        "details": details,
        "score": score,
        "max_score": max_score,
        "weight": weight,
        "severity": severity,
        "recommendation": recommendation,
        "evidence_refs": list(evidence_refs or ()),
        "visibility": visibility,
        "tags": list(tags or ()),
    }


def _exec(result: ExecResult) -> Dict[str, Any]:
    return {
        "exit_code": result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        # What an author's own stand-in for a result, written earlier, does not have.
        "stdout_truncated": getattr(result, "stdout_truncated", False),
        "stderr_truncated": getattr(result, "stderr_truncated", False),
        "timed_out": result.timed_out,
        "oom_killed": result.oom_killed,
        "host_lost": getattr(result, "host_lost", False),
        "reason": getattr(result, "reason", ""),
        "duration_seconds": result.duration_seconds,
    }
