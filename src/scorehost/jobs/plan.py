"""The plan of a job: every attempt, in the order in which they are taken. Made once, and passed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from scorehost.errors import UsageError
from scorehost.model.json import digest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from scorehost.model.ids import AttemptKey
    from scorehost.model.order import Order
    from scorehost.runs.record import ParentRecord, Subject

MAX_ATTEMPTS = 1_000_000
W = TypeVar("W")
Warn = Callable[[str], None]


class Asked(Protocol):
    """Which attempts a job has: a frozen dataclass with the tag of its kind, as job.json holds it."""

    @property
    def kind(self) -> str:
        """The tag of the kind that reads it."""

    @property
    def name(self) -> str | None:
        """What a person calls the job."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a plan is made: `staging` is a folder of the job that need not exist and is gone at its end."""

    staging: Path
    warn: Warn


@dataclass(frozen=True, slots=True)
class Plan(Generic[W]):
    """Every attempt of a job, and what must not have changed when it is resumed.

    `asked` is what job.json keeps: it must give the same attempts from any folder. `carried` are attempts of
    an earlier job that stand, with their folders. `as_first` gives the subject as a record without a
    `gold_key` has it, so that a job of the first format can go on; it reads all again. `runner` is the digest
    of what scorehost itself brings into an attempt, as results have it; "" where it brings nothing.
    """

    asked: Asked
    orders: Sequence[Order[W]]
    subject: Subject
    carried: Mapping[AttemptKey, Path] = field(default_factory=dict)
    parent: ParentRecord | None = None
    as_first: Callable[[], Subject] | None = None
    runner: str = ""

    def __post_init__(self) -> None:
        if len(self.orders) > MAX_ATTEMPTS:
            raise too_many(len(self.orders))
        seen: set[str] = set()
        for order in self.orders:
            name = str(order.key).lower()  # on some file systems both would be one folder
            if name in seen:
                raise UsageError(
                    f"Two attempts would be {order.key} (case does not tell them apart).",
                    hint="Give one of them another name.",
                )
            seen.add(name)

    def subject_like(self, was: Subject) -> Subject:
        """The subject, its digests taken as `was` has them: only those can be held against each other."""
        if self.as_first is None or was.dataset.gold_key is not None:
            return self.subject
        return self.as_first()

    @property
    def digest(self) -> str:
        """Over the keys in order: two plans with one digest make the same attempts."""
        return digest([str(order.key) for order in self.orders])

    @property
    def fingerprint(self) -> str:
        """Over keys and fingerprints in order: two plans with one make the same verdicts, chance aside."""
        return digest([[str(order.key), order.fingerprint] for order in self.orders])

    @property
    def tags(self) -> frozenset[str]:
        """All tags of its orders."""
        return frozenset(tag for order in self.orders for tag in order.tags)


def too_many(attempts: int) -> UsageError:
    """The refusal of a job of so many attempts; a kind may raise it before it makes their orders."""
    return UsageError(
        f"That would be {attempts} attempts, more than {MAX_ATTEMPTS}.", hint="Use several jobs."
    )
