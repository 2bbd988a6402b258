"""What a job needs from the layers around it: something that scores, a clock."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from scorehost.runs.tally import CallTally

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.attempt.order import Order
    from scorehost.model.result import Result
    from scorehost.runs.writer import Writer

Emit = Callable[[str, Mapping[str, Any]], None]
"""`emit(kind, fields)`: something happened in an attempt (`phase`, `image`, `warning`, …); never raises.
The fields are JSON values without anything of gold."""

Ping = Callable[[], Awaitable[None]]
"""Asks the engine for an answer; raises an EngineError when there is none."""


class Score(Protocol):
    """Scores one attempt."""

    async def __call__(self, order: Order, folder: Path, emit: Emit) -> Result:
        """Publishes the attempt at `folder`, which does not exist before and appears whole; gives its result.

        A failure of the attempt is a Result of status ERROR. Raises DiskTrouble and EngineUnreachable; then,
        and after a cancellation, `folder` does not exist and nothing of the attempt is left on the engine.
        """


class Upcoming:
    """The orders that come next, as far as they are known: what scores may prepare for them."""

    def __init__(self) -> None:
        self.look: Callable[[int], Sequence[Order]] = lambda _count: ()

    def __call__(self, count: int) -> Sequence[Order]:
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
    notes: list[tuple[str, Mapping[str, Any]]] = field(
        default_factory=list
    )  # for the journal, once it is open


OpenScoring = Callable[[JobPlace], AbstractAsyncContextManager[Score]]
"""Opens what scores the attempts of one job (leases, warm hosts, …); closed when the job ends."""


def ready(score: Score) -> OpenScoring:
    """An `OpenScoring` for a score function that needs nothing opened."""

    @asynccontextmanager
    async def opened(_place: JobPlace) -> AsyncIterator[Score]:
        yield score

    return opened


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
