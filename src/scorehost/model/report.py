"""What `report --format json` writes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from scorehost.model.failure import Failure
from scorehost.model.frozen import Frozen
from scorehost.model.result import Status
from scorehost.model.summary import Summary, Warned


class ReportRow(Frozen):
    """One finished attempt."""

    task_id: str
    submission: str
    sample: int
    repeat: int
    status: Status
    score: float | None
    seconds: float
    timing: dict[str, float] = Field(description="seconds of each phase")
    reason: str
    error: Failure | None
    metrics: dict[str, Any] = Field(description="the declared ones; of a private report all")
    checks: tuple[dict[str, Any], ...] = Field(
        description="rows of checks.json: id and status, the texts of public ones, of a private report all"
    )
    carried_from: str | None = Field(description="the job that scored it, where a rescore let it stand")
    warnings: tuple[str, ...] = ()


class ReportDocument(Frozen):
    """A job: its summary as summary.json has it, and every attempt with its checks."""

    format: Literal["scorehost.report/1"] = "scorehost.report/1"
    job_id: str
    name: str | None
    dataset_id: str
    dataset_version: str
    scorehost: str
    created_at: str
    status: str
    parent: str | None = Field(description="the job that was scored again")
    planned: int
    unfinished: int
    damaged: tuple[str, ...]
    faults: tuple[str, ...] = Field(
        (), description="files of the job that are gone, cut or not those that its events tell of"
    )
    private: bool
    warnings: tuple[Warned, ...] = Field((), description="of the job and its attempts, each text once")
    warnings_left_out: int = Field(0, description="further warnings, which stand with their attempts only")
    summary: Summary | None = Field(
        description="null when the job never came to its end, or attempts of it are damaged"
    )
    attempts: tuple[ReportRow, ...]
