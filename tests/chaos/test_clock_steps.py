"""Clocks that step while a job runs, forward and back by an hour: no verdict changes, nothing is lost."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from chaos_kit import ALONE, BESIDE, ROUNDS, Findings, left_on_engine, scorehost, write_dataset

from scorehost.attempt import score
from scorehost.engine.opening import open_engine
from scorehost.hosts import clean, host
from scorehost.jobs import ledger
from scorehost.runs import journal
from scorehost.runs.folder import find_job

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

HOUR = 3_600.0
KEYS = ["t0/solution/1.1", "t1/solution/1.1"]


class SteppingClock:
    """Steps by so many seconds each time that it is read after the first."""

    def __init__(self, *steps: float) -> None:
        self._steps = steps
        self.reads = 0

    def now(self) -> float:
        step = self._steps[self.reads % len(self._steps)]
        self.reads += 1
        return time.monotonic() + step

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(min(max(seconds, 0.05), 0.2))


@pytest.fixture
def wall(monkeypatch):
    """The calendar's clock goes back an hour with every second reading, wherever it is written down."""
    readings = []

    def stepping() -> str:
        readings.append(None)
        moment = datetime.now(UTC) - timedelta(hours=len(readings) % 2)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    for module in (journal, ledger, score, host):
        monkeypatch.setattr(module, "utc_now", stepping)
    return readings


STEPS = [(-HOUR, 0.0, HOUR), (0.0, HOUR), (0.0, -HOUR)]


@pytest.mark.parametrize("steps", STEPS if ROUNDS else STEPS[:1])
async def test_a_job_whose_clocks_step_ends_as_any_other(tmp_path, run, wall, steps):
    root = write_dataset(tmp_path / "d", {"t0": ALONE, "t1": BESIDE})
    clock = SteppingClock(*steps)
    async with open_engine() as engine:
        with anyio.fail_after(60):
            outcome = await run(engine, root, clock=clock)
    assert [row.status for row in outcome.rows] == ["PASS", "PASS"], outcome.rows
    assert (outcome.status, outcome.exit_status) == ("complete", 0)
    assert clock.reads > 10, "the job never looked at this clock"
    assert len(wall) > 10, "nothing was written down by this clock"
    assert all(row.seconds >= 0 for row in outcome.rows)
    found = Findings()
    found.look_at_the_end(outcome.folder, KEYS, {})
    assert found.clean, found
    assert left_on_engine(outcome.folder.name) == []
    resumed = scorehost("run", "--resume", "latest", "--out", run.out, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert len(json.loads(resumed.stdout)["attempts"]) == 2
    assert find_job(run.out, "latest").path == outcome.folder


async def test_clean_spares_a_living_job_whatever_the_calendar_says(tmp_path, run, monkeypatch):
    root = write_dataset(
        tmp_path / "d", {"t1": BESIDE.replace("def eval", "import time\ntime.sleep(2)\ndef eval")}
    )
    reports = []

    async def cleans():
        async with open_engine() as other:
            while "phase" not in run.kinds() or len(reports) < 4:
                for step in (-48 * HOUR, 48 * HOUR):
                    monkeypatch.setattr(
                        clean.time, "time", lambda step=step: datetime.now(UTC).timestamp() + step
                    )
                    reports.append(await clean.clean(other, older_than=HOUR))
                    monkeypatch.undo()
                await anyio.sleep(0.3)

    async with open_engine() as engine, anyio.create_task_group() as group:
        group.start_soon(cleans)
        outcome = await run(engine, root)
        group.cancel_scope.cancel()
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.rows
    mine = outcome.folder.name
    left = [why for report in reports for item, why in report.left if item.labels["scorehost.job"] == mine]
    assert left, "nothing of the job was seen"
    assert not [item for report in reports for item in report.removed if item.labels["scorehost.job"] == mine]
