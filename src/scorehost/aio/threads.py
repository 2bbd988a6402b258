"""The one place where a blocking call gets a thread; nothing else in scorehost calls anyio.to_thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def in_thread(call: Callable[[], T], limiter: anyio.CapacityLimiter) -> T:
    """Runs `call` in a thread and gives its result.

    A cancel returns at once and leaves the thread to finish by itself (a request that is on its way cannot be
    taken back): every call must end by its own time limit.
    """
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=limiter)
