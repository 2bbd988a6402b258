"""Long plain work in a thread: it gives and raises as a call does, and ends when nobody waits for it."""

from __future__ import annotations

import time

import anyio
import pytest

from scorehost.aio.aside import aside, still_wanted
from scorehost.errors import UsageError

pytestmark = pytest.mark.anyio


async def test_it_gives_what_the_work_gives_and_raises_what_it_raises():
    def wrong():
        raise UsageError("wrong")

    assert await aside(lambda: 42) == 42
    with pytest.raises(UsageError, match="wrong"):
        await aside(wrong)


async def test_other_tasks_go_on_meanwhile():
    beats = []

    async def beat():
        while True:
            beats.append(1)
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        await aside(lambda: time.sleep(0.3))
        group.cancel_scope.cancel()
    assert len(beats) > 3


async def test_a_cancel_comes_back_once_the_work_has_seen_that_nobody_waits():
    seen = []

    def long():
        try:
            while True:
                still_wanted()
                time.sleep(0.01)
        finally:
            time.sleep(0.1)
            seen.append("ended")

    with anyio.move_on_after(0.1) as scope:
        await aside(long)
    assert scope.cancelled_caught
    assert seen == ["ended"]


def test_outside_of_it_work_is_always_wanted():
    still_wanted()
