"""Work that a cancel may not simply drop: it goes on for a moment, so that what it made can be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

from scorehost.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
UNDO_SECONDS = 10.0


async def lingering(
    work: Callable[[], Awaitable[T]],
    *,
    undo: Callable[[T], Awaitable[None]],
    grace: float,
    alive: Callable[[], Awaitable[None]],
) -> T:
    """The result of `work`. When cancelled, waits up to `grace` seconds for it and undoes what it gave, or
    only until `alive` raises an EngineError.

    What `undo` takes more than UNDO_SECONDS for, or what `work` makes after `grace`, is left: it must be
    recognisable by itself (by its labels).
    """
    protected = anyio.CancelScope(shield=True)
    results: list[T] = []
    over: list[bool] = []
    errors: list[Exception] = []

    async def watch() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            protected.deadline = min(protected.deadline, anyio.current_time() + grace)
            if not over:
                with anyio.CancelScope(shield=True):
                    try:
                        await alive()
                    except EngineError:
                        protected.cancel()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            with protected:
                try:
                    results.append(await work())
                except Exception as error:  # noqa: BLE001 - raised again below, outside the group
                    errors.append(error)
                over.append(True)
            group.cancel_scope.cancel()
        # A cancel that came while the work went on is delivered here at the latest.
        await anyio.lowlevel.checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(UNDO_SECONDS, shield=True):
            for result in results:
                await undo(result)
        raise
    if errors:
        raise errors[0]
    return results[0]
