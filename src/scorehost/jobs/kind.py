"""What a kind of job gives the machine that runs it. The machine knows nothing else of any kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from scorehost.errors import UsageError
from scorehost.jobs.plan import Asked, Desk, Plan
from scorehost.runs.record import Asked as RecordedAsked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from scorehost.jobs.running import Running
    from scorehost.jobs.scoring import JobPlace, Score
    from scorehost.model.comparison import Difference
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Status
    from scorehost.model.summary import Groups, KindFigures, Summary
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.runs.record import JobRecord, Subject
    from scorehost.runs.scored import Scored

A = TypeVar("A", bound=Asked)
W = TypeVar("W")
Gate = Literal["met", "not met", "none"]
Retries = Literal["machinery", "never"]
"""machinery: a retryable ERROR is tried again, as the invocation says; never: each attempt is made once"""


@dataclass(frozen=True, slots=True)
class Derived:
    """An attempt's verdict taken again from what its folder holds.

    `status` and `score` are None where they do not follow from it; `differs` says what in result.json is not
    what follows, `unknown` what cannot be derived, and why.
    """

    status: Status | None
    score: float | None
    differs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Sitting(ABC, Generic[W]):
    """One invocation of a job, with what it needs held open: an engine, endpoints, roles."""

    concurrency: int
    """Attempts at a time, as the invocation, the profile and the machinery allow."""

    @abstractmethod
    async def plan(self, desk: Desk) -> Plan[W]:
        """Every attempt of the job. Called once, before any attempt.

        Raises InputError for what was asked wrongly, DiskFull.
        """

    @abstractmethod
    def open(self, plan: Plan[W], place: JobPlace) -> AbstractAsyncContextManager[Score[W]]:
        """Opens what scores the attempts of `plan`; closed when the job ends."""

    @abstractmethod
    async def ping(self) -> None:
        """Asks the machinery for an answer; raises an EngineError when there is none."""

    def give_up(self) -> None:
        """Breaks off whatever waits for machinery that hangs: the process has to end."""


class Kind(ABC, Generic[A, W]):
    """A kind of job: what it is asked, how its attempts are planned, opened and judged."""

    tag: ClassVar[str]
    asked: type[A]
    retries: ClassVar[Retries] = "machinery"

    @abstractmethod
    def begin(
        self, asked: A, running: Running, say: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Sitting[W]]:
        """Reads what is asked and opens what an invocation needs; `say` is told what is slow or left over.

        Raises InputError, EngineError.
        """

    @abstractmethod
    def figures(
        self, plan: Plan[W], attempts: Mapping[AttemptKey, Scored], groups: Groups
    ) -> KindFigures | None:
        """Its part of summary.json; `groups` are the figures that every job has."""

    @abstractmethod
    def gate(self, summary: Summary) -> Gate:
        """Whether a job that came to its end met what it is for: 1 is the exit status where it did not."""

    @abstractmethod
    def must_agree(
        self, a: ReadJob, b: ReadJob, pairs: Sequence[tuple[Attempt, Attempt]]
    ) -> tuple[Difference, ...]:
        """What differs between two jobs of this kind, over the attempts that they share.

        One of kind `scoring` keeps them from being compared.
        """

    @abstractmethod
    def derive(self, attempt: Attempt) -> Derived:
        """The attempt's verdict again, from the raw material in its folder."""

    def moved(self, asked: A, place: Path) -> A:  # noqa: ARG002
        """What a job was asked when that lies at `place` now; UsageError where a kind cannot move."""
        raise UsageError(f"A job cannot be moved to {place}.", hint="Leave it out, or start a new job.")

    def part_words(self, was: Subject, now: Subject, task_id: str, part: str) -> str:  # noqa: ARG002
        """What a person calls a part of a task whose digest changed."""
        return part

    def incomparable(self, was: Subject, now: Subject) -> Mapping[str, str]:  # noqa: ARG002
        """Parts of tasks of which nobody can tell whether they changed, each with what to say of it."""
        return {}

    def read(self, record: JobRecord) -> A:
        """What the job of `record` was asked. UsageError when it cannot be read."""
        return read_asked(self.asked, record)

    def recorded(self, asked: Any) -> RecordedAsked:
        """`asked` as job.json has it."""
        values = TypeAdapter(self.asked).dump_python(asked, mode="json")
        return RecordedAsked.model_validate(values)


def read_asked(asked: type[A], record: JobRecord) -> A:
    """What the job of `record` was asked, validated. UsageError when it cannot be read."""
    try:
        return TypeAdapter(asked).validate_json(record.asked.model_dump_json())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"What the job {record.job_id} was asked cannot be read: {where}: {first['msg']}.",
            hint="It may be of a later version of scorehost. Start a new job.",
        ) from None
