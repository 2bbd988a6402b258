"""What `audit` finds out about a benchmark."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scorehost.model.frozen import Frozen
from scorehost.model.summary import Warned

Level = Literal["defect", "error", "warning"]
Role = Literal["solution", "empty", "wrong", "mutant", "attack"]


class MadeUp(Frozen):
    """One submission that the audit makes for one task.

    `label` is what it is in words ("an always-equal object"), `detail` what exactly was done.
    """

    name: str
    task_id: str
    role: Role
    label: str
    detail: str = ""


class Kit(Frozen):
    """kit.json: everything that an audit made, beside the folders that hold it."""

    format: Literal["scorehost.audit-kit/1"] = "scorehost.audit-kit/1"
    attacks: bool
    hand_ins: tuple[MadeUp, ...]


class AuditFinding(Frozen):
    """One thing found. `defect`: the benchmark is wrong; `error`: it could not be found out; `warning`: look.

    `kind` is a fixed word for programs; `command` scores the very same again (empty where nothing is scored).
    """

    level: Level
    kind: str
    task_id: str
    submission: str = ""
    text: str
    command: str = ""


class Passed(Frozen):
    """How many tasks' evaluators gave PASS to something dishonest, wrong or empty."""

    label: str
    tasks: tuple[str, ...]


class AuditReport(Frozen):
    """The end of an audit: defects first, then errors, then warnings; each by task."""

    format: Literal["scorehost.audit/1"] = "scorehost.audit/1"
    dataset: str
    job_id: str
    folder: str
    attacks: bool
    tasks: int
    attempts: int
    seconds: float = Field(ge=0)
    repeats: int
    mutants: int = Field(description="mutated solutions that were scored")
    survivors: int = Field(description="of these, how many are PASS")
    findings: tuple[AuditFinding, ...]
    passed: tuple[Passed, ...]
    unsound: tuple[str, ...] = Field(description="tasks whose evaluator gave PASS to what must not pass")
    complete: bool
    exit_status: int = Field(description="0 sound, 1 defects, 2 nothing could run, 3 errors, 130 stopped")
    message: str = ""
    warnings: tuple[Warned, ...] = Field((), description="of its job, as summary.json has them")
    warnings_left_out: int = 0
