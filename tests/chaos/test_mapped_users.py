"""An engine that maps the users of containers: hosts get users that there are."""

from __future__ import annotations

import anyio.to_thread
import pytest
from chaos_kit import BESIDE, LONG, write_dataset
from second_engine import SecondEngine, missing

from scorehost.engine.opening import open_engine

pytestmark = [pytest.mark.docker, pytest.mark.anyio, LONG]


@pytest.mark.timeout(300)
async def test_a_job_runs_on_an_engine_that_remaps_users(tmp_path, run):
    if missing():
        pytest.skip(missing())
    engine = SecondEngine(mapped=True)
    try:
        await anyio.to_thread.run_sync(engine.start)
        await anyio.to_thread.run_sync(engine.load)
        async with open_engine(engine.host) as opened:
            assert (await opened.info()).maps_users
            outcome = await run(opened, write_dataset(tmp_path / "d", {"t0": BESIDE}))
        assert [row.status for row in outcome.rows] == ["PASS"], (outcome.message, outcome.rows)
        assert engine.objects() == []
    finally:
        engine.clear()
