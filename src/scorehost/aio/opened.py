"""A plain context manager that reads and writes the disk, entered and left in a thread."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio

from scorehost.aio.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractContextManager

T = TypeVar("T")


@asynccontextmanager
async def opened_aside(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """What `manager` gives. Entered and left whole, also under a cancel: both must end by themselves."""
    limiter = anyio.CapacityLimiter(1)
    with anyio.CancelScope(shield=True):
        value = await in_thread(manager.__enter__, limiter)
    try:
        yield value
    except BaseException as error:
        given = (type(error), error, error.__traceback__)
        with anyio.CancelScope(shield=True):
            quiet = await in_thread(lambda: manager.__exit__(*given), limiter)
        if not quiet:
            raise
    else:
        with anyio.CancelScope(shield=True):
            await in_thread(lambda: manager.__exit__(None, None, None), limiter)
