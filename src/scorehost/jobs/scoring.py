"""What a job needs from the layers around it: something that scores, a clock."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio

from scorehost.runs.tally import CallTally

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.model.order import Order
    from scorehost.model.result import Result
    from scorehost.runs.writer import Writer

W_contra = TypeVar("W_contra", contravariant=True)

Emit = Callable[[str, Mapping[str, Any]], None]
"""`emit(kind, fields)`: something happened in an attempt (`phase`, `image`, `warning`, …); never raises.
The fields are JSON values without anything of gold."""

Ping = Callable[[], Awaitable[None]]
"""Asks the engine for an answer; raises an EngineError when there is none."""


class Score(Protocol[W_contra]):
    """Scores one attempt."""

    async def __call__(self, order: Order[W_contra], folder: Path, emit: Emit) -> Result:
        """Publishes the attempt at `folder`, which does not exist before and appears whole; gives its result.

        A failure of the attempt is a Result of status ERROR. Raises DiskTrouble and EngineUnreachable; then,
        and after a cancellation, `folder` does not exist and nothing of the attempt is left on the engine.
        """


class Upcoming:
    """The orders that come next, as far as they are known: what scores may prepare for them."""

    def __init__(self) -> None:
        self.look: Callable[[int], Sequence[Order[Any]]] = lambda _count: ()

    def __call__(self, count: int) -> Sequence[Order[Any]]:
        """At most `count` of them, the next one first."""
        return self.look(count)


@dataclass(frozen=True, slots=True)
class JobPlace:
    """Which job it is and where it lies; `folder` exists when scoring opens."""

    job_id: str
    folder: Path
    upcoming: Upcoming = field(default_factory=Upcoming)
    writer: Writer | None = None  # of the job; None: the attempts have their own
    calls: CallTally = field(default_factory=CallTally)  # of agents, before the job was resumed
    finished: frozenset[str] = frozenset()  # keys of the attempts that were finished by then
    notes: list[tuple[str, Mapping[str, Any]]] = field(
        default_factory=list
    )  # for the journal, once it is open


class Clock(Protocol):
    """Time as a job counts it, in seconds."""

    def now(self) -> float:
        """Seconds since some moment, never going back."""

    async def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Waits without blocking the event loop."""
        await anyio.sleep(seconds)
