"""Memory is lent in order, never beyond the share, and comes back however an attempt ends."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from scorehost.hosts.admission import MemoryPool

pytestmark = pytest.mark.anyio


def pool_of(size: int) -> MemoryPool:
    return MemoryPool(round(size / 0.8))


async def test_hosts_get_four_fifths_of_the_engines_memory():
    assert MemoryPool(1000).capacity == 800


async def test_what_is_lent_at_one_time_stays_below_the_capacity():
    pool, lent, most = pool_of(100), 0, 0

    async def attempt(size: int) -> None:
        nonlocal lent, most
        async with pool.reserved(size):
            lent += size
            most = max(most, lent)
            await anyio.lowlevel.checkpoint()
            lent -= size

    async with anyio.create_task_group() as group:
        for size in (60, 50, 40, 30, 20, 10, 100, 1) * 5:
            group.start_soon(attempt, size)
    assert most <= 100
    assert lent == 0


async def test_a_large_attempt_is_not_starved_by_small_ones_that_come_later():
    pool, order = pool_of(100), []

    async def attempt(name: str, size: int) -> None:
        async with pool.reserved(size):
            order.append(name)
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        for name, size in (("first", 60), ("large", 100), ("small", 10)):
            group.start_soon(attempt, name, size)
            await anyio.lowlevel.checkpoint()
    assert order == ["first", "large", "small"]


async def test_a_cancelled_wait_takes_nothing_and_lets_the_next_one_in():
    pool = pool_of(100)
    async with pool.reserved(60):
        with anyio.move_on_after(0.01) as scope:
            async with pool.reserved(100):
                pytest.fail("more was lent than there is")
        assert scope.cancelled_caught
        async with pool.reserved(40):
            pass
    async with pool.reserved(100):
        pass


async def test_memory_comes_back_when_the_attempt_raises():
    pool = pool_of(100)
    with pytest.raises(RuntimeError):
        async with pool.reserved(100):
            raise RuntimeError
    async with pool.reserved(100):
        pass


async def test_what_can_never_fit_is_refused_at_once():
    with pytest.raises(ValueError, match="101"):
        async with pool_of(100).reserved(101):
            pass
