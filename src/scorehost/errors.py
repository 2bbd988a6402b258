"""Every exception that scorehost raises on purpose, in one tree whose axis is blame.

    ScorehostError                 exit 3   anything of ours that reaches a caller
    ├── InputError                 exit 2   what the user wrote or typed: nothing was scored
    │   ├── SpecError              exit 2   dataset, task, profile files: many problems at once
    │   └── UsageError             exit 2   command line, submissions, job folders
    ├── EngineError                exit 2   the Docker engine, seen from the door
    │   ├── EngineUnreachable      exit 2   no answer: missing socket, no permission, nothing listens, gone
    │   ├── EngineRefused          exit 2   it answered, and said no (carries the HTTP status)
    │   │   ├── NotFound                    no such container, image, exec
    │   │   └── Conflict                    the name or the state is taken
    │   └── EngineTimeout          exit 2   it did not answer in time
    │       └── EngineHangs        exit 2   it answers nothing at all, to nobody
    ├── AttemptFailed              exit 3   one attempt ends as ERROR; carries a model Failure
    ├── CallFailed                 exit 3   one call of a role has no reply; carries a model Fault
    ├── BudgetSpent                exit 3   more was asked for than an attempt or its job may have
    ├── DiskTrouble                exit 2   the disk of the runs folder fails; the job stops
    │   └── DiskFull               exit 2   it cannot take what is due
    └── Interrupted                exit 130 a signal asked the job to stop

An exception of the docker SDK never leaves `scorehost.engine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from scorehost.model.call import Fault
    from scorehost.model.failure import Failure


class ScorehostError(Exception):
    """What went wrong, in `message`; what to do next, in `hint` (may be empty)."""

    exit_status: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class InputError(ScorehostError):
    """The user's files or words are wrong; nothing was scored."""

    exit_status = 2


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong at one place of one file; prints as `path:line:column: key.path: text. hint`.

    `line` and `column` count from 1; 0 when the problem has no place inside the file.
    """

    path: str
    line: int
    column: int
    key: str
    text: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        key = f" {self.key}:" if self.key else ""
        hint = f". {self.hint}" if self.hint else ""
        return f"{place}:{key} {self.text}{hint}"


class SpecError(InputError):
    """All problems of all files that were read, in order of place."""

    def __init__(self, problems: list[Problem], *, hint: str = "") -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems), hint=hint)


class UsageError(InputError):
    """An argument, a submission or a job folder is not what was asked for."""


class EngineError(ScorehostError):
    """The Docker engine did not do what was asked."""

    exit_status = 2


class EngineUnreachable(EngineError):
    """The engine does not answer at its endpoint at all."""


class EngineTimeout(EngineError):
    """The engine took the request and did not answer within the time given."""


class EngineHangs(EngineTimeout):
    """It answers nothing at all, to nobody: no container can bring that about."""


class EngineRefused(EngineError):
    """The engine answered with an error status."""

    def __init__(self, message: str, *, status: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class NotFound(EngineRefused):
    """The engine does not know the container, image, volume or exec."""


class Conflict(EngineRefused):
    """The name is taken, or the object is not in a state that allows the request."""


class AttemptFailed(ScorehostError):
    """One attempt ends as ERROR for the reason in `failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, hint=failure.hint)
        self.failure = failure


class CallFailed(ScorehostError):
    """One call of a role has no reply, for the reason in `fault`, which is never the submission's."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.kind = fault.kind


class BudgetSpent(ScorehostError):
    """More was asked for than an attempt may have, or the whole job (`kind` is then budget_spent)."""

    def __init__(self, message: str, *, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class DiskTrouble(ScorehostError):
    """The file system of the runs folder does not do what it must; says what, and where."""

    exit_status = 2


class DiskFull(DiskTrouble):
    """The file system of the runs folder cannot take what is due."""


class Interrupted(ScorehostError):
    """A signal asked the job to stop."""

    exit_status = 130
