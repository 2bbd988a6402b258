"""What a person asks of a job, as the command line or a caller of the API gives it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Every option of `scorehost run` and `rescore`; an empty tuple means that the option was not given."""

    dataset: Path = Path()
    tasks: tuple[str, ...] = ()  # globs over task ids
    tags: tuple[str, ...] = ()
    limit: int | None = None
    submissions: tuple[str, ...] = ()  # solution | empty | wrong:NAME | FOLDER | NAME=PATH
    submissions_dir: Path | None = None
    predictions: Path | None = None
    repeat: int = 1
    samples: int | None = None  # of the run phase
    max_calls: int | None = None  # of agents, in the whole job; then further calls are refused
    max_tokens: int | None = None  # in and out; a call that has begun is never broken off
    concurrency: int | None = None
    profiles: Path | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # --set
    gold: Path | None = None
    out: Path = Path("runs")
    name: str | None = None
    resume: str | None = None
    rerun: str | None = None  # error | error:KIND
    retry_errors: int = 1
    fail_fast: bool = False
    exit_on: Literal["fail", "error", "never"] = "fail"
    fail_under: float | None = None
    locked: bool = False  # only with files and images as scorehost.lock says
    allow_unenforced: bool = False
    allow_shared_host: bool = False  # score in the run phase's container, if profiles ask for it
    keep: Literal["error", "always"] | None = None  # hosts that stay on the engine for a look
    private: bool = False
    dry_run: bool = False
    parent: Path | None = None  # rescore: the folder of the job whose archived artifacts are the submissions
    changed: bool = False  # rescore: only what changed since then
    staged: Path | None = None  # audit: folders NAME/<task_id>/…, each for the tasks that it has, scored once
