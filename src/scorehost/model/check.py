"""Rows of checks.json, as `evaluation_check` makes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from scorehost.model.exec_result import ExecFacts
from scorehost.model.frozen import Frozen
from scorehost_sdk.verdict import MAX_ROW_BYTES as MAX_BYTES

__all__ = ["MAX_BYTES", "CheckExec", "CheckRow", "CheckStatus"]

CheckStatus = Literal["PASS", "FAIL", "ERROR", "SKIP"]


class CheckExec(ExecFacts):
    """What an exec that a check rests on did; seconds. `truncated`: either stream lost something."""

    stdout: str
    stderr: str
    truncated: bool
    timed_out: bool
    oom_killed: bool
    duration_seconds: float


class CheckRow(Frozen):
    """One check. `visibility` decides whether its free text may leave the job."""

    id: str = Field(min_length=1, max_length=256)
    title: str = ""
    status: CheckStatus
    script: str | None = None
    environment: str | None = None
    exec: CheckExec | None = None
    message: str = ""
    details: Any = None
    score: float | None = Field(None, allow_inf_nan=False)
    max_score: float | None = Field(None, allow_inf_nan=False)
    weight: float | None = Field(None, allow_inf_nan=False)
    severity: str | None = None
    recommendation: str | None = None
    evidence_refs: tuple[str, ...] = ()
    visibility: Literal["private", "public"] = "private"
    tags: tuple[str, ...] = ()
