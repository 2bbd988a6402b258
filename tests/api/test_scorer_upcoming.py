"""What a scorer expects next: hosts are made ready for that ahead of need."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import anyio
import pytest

from scorehost.api import open_scorer
from scorehost.engine.memory import MemoryEngine
from trial import IMAGE, write_task

pytestmark = pytest.mark.anyio

EVALUATOR = "def evaluate(inputs): return {'status': 'PASS'}\n"


@asynccontextmanager
async def in_which_nothing_ends(_host):
    async def forever(_context):
        await anyio.sleep_forever()

    async with MemoryEngine() as engine:
        engine.images.add(IMAGE)
        engine.program(lambda launch: launch.main, forever)
        yield engine


async def test_what_waits_for_its_turn_is_expected_next_in_order_and_then_more_of_the_last(tmp_path):
    for task in ("a", "b", "c"):
        write_task(tmp_path / "d", EVALUATOR, task_id=task, limits={"memory_mb": 64})
    async with open_scorer(tmp_path / "d", at_a_time=1, engine=in_which_nothing_ends) as scorer:
        assert scorer.upcoming(2) == []
        scores = [asyncio.create_task(scorer.score(task, {"answer": "x"})) for task in ("a", "c", "b")]
        await anyio.wait_all_tasks_blocked()
        assert [order.key.task_id for order in scorer.upcoming(1)] == ["c"]
        assert [order.key.task_id for order in scorer.upcoming(4)] == ["c", "b", "b", "b"]
    assert all(
        isinstance(found, Exception) for found in await asyncio.gather(*scores, return_exceptions=True)
    )
