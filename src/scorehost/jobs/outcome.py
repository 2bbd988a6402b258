"""What a job tells while it runs, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.model.failure import Failure
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Status
    from scorehost.model.summary import Warned


@dataclass(frozen=True, slots=True)
class Row:
    """One attempt as tables show it; `reason` holds nothing private unless the job ran with `private`.

    `warnings` is how many its result has.
    """

    key: AttemptKey
    status: Status
    score: float | None
    seconds: float
    reason: str
    error: Failure | None = None
    warnings: int = 0


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened: job_started {planned, done, folder}, attempt_started, phase {phase},
    attempt_finished {row: Row}, attempt_retried {kind}, attempt_lost {text}, image {text}, waiting {text},
    agents_ready {adapter_isolation}, agent_call {role, mode, ended}, warning {text}, job_finished.
    """

    kind: str
    key: AttemptKey | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


Watch = Callable[[JobEvent], None]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The end of a job. `summary` is what summary.json holds, `warnings` what it left out, ignored or took
    instead: each text once.
    """

    job_id: str
    folder: Path
    status: Literal["complete", "incomplete", "interrupted", "invalidated"]
    summary: Mapping[str, Any]
    rows: tuple[Row, ...]
    root_hash: str
    exit_status: int
    message: str = ""  # why it stopped early, with what to do; empty when it ran to its end
    warnings: tuple[Warned, ...] = ()
