"""Long plain work of a job (plans, archives, digests) in a thread; it ends soon when nobody waits for it."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import anyio

from scorehost.aio.groups import task_group
from scorehost.aio.threads import in_thread
from scorehost.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

STOP_SECONDS = 5.0  # for the work to come to its next look; a disk that hangs longer is left to its thread
_given_up: ContextVar[threading.Event | None] = ContextVar("_given_up", default=None)


def still_wanted() -> None:
    """Stands in every loop that may be long. Raises Interrupted when nobody waits for the work any more.

    Outside of `aside` it does nothing.
    """
    given_up = _given_up.get()
    if given_up is not None and given_up.is_set():
        raise Interrupted("Stopped by a signal.")


async def aside(work: Callable[[], T]) -> T:
    """What `work` gives, done in a thread; raises what it raises.

    A cancel ends it at its next `still_wanted`, and this returns once it has ended, so that nothing is
    written into a folder that is being removed.
    """
    given_up = threading.Event()
    shield = anyio.CancelScope(shield=True)
    done = anyio.Event()
    made: list[T] = []

    def watched() -> T:
        _given_up.set(given_up)  # a thread's work has a context of its own
        return work()

    async def carry() -> None:
        with suppress(Interrupted), shield:
            made.append(await in_thread(watched, anyio.CapacityLimiter(1)))
        done.set()

    async with task_group() as group:
        group.start_soon(carry)
        try:
            await done.wait()
        except BaseException:
            given_up.set()
            shield.deadline = anyio.current_time() + STOP_SECONDS
            raise
    return made[0]
