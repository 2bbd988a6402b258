"""Hosts that run ahead of need: as fresh as any other, without gold until they are assigned, never left."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest
import yaml

from scorehost.attempt.resources import open_resources
from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.opening import open_engine
from scorehost.hosts import labels
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

EVALUATOR = """
import os
def evaluate(inputs):
    gold = open(os.path.join(inputs["evaluation_dir"], "gold.txt")).read()
    said = inputs["scoring"].exec("work", ["cat", "/attempt/artifacts/answer.txt"]).stdout
    seen = sorted(os.listdir("/tmp"))
    open("/tmp/left-behind", "w").close()
    return {"status": "PASS", "metrics": {"gold": gold, "said": said, "tmp": seen, "uid": os.getuid()}}
"""


class Trial:
    """Scores attempt after attempt on one bench, which knows that more of the same will come."""

    def __init__(self, engine, bench, folder, task, submission):
        self.engine, self.bench, self.folder = engine, bench, folder
        self.task, self.submission, self.count = task, submission, 0

    async def score(self):
        self.count += 1
        key = AttemptKey(task_id=self.task.task_id, submission="s", sample=self.count)
        order = Order(key, Work(self.task, Sample(self.submission)))
        return await score(self.bench, order, self.folder / key.folder, lambda _kind, _fields: None)

    async def spares(self, count: int):
        """The spare hosts of this job, once there are `count` that run, and those that served have left."""
        with anyio.fail_after(20):
            while True:
                settled = not self.bench.leaving.going
                found = await self.engine.list_containers(
                    {labels.JOB: self.bench.job_id, labels.SLOT: "spare"}
                )
                if settled and sum(row.running for row in found) >= count:
                    return found
                await anyio.sleep(0.05)


@asynccontextmanager
async def trial(tmp_path, job_id, *, warm: int = 1):
    root = write_task(
        tmp_path / "d",
        EVALUATOR,
        gold={"gold.txt": b"the-gold"},
        evaluation={"environments": {"work": {"docker_image": "scorehost/python:3"}}},
        limits={"memory_mb": 128},
    )
    profiles = yaml.safe_load((root / "profiles.yaml").read_text())
    (root / "profiles.yaml").write_text(yaml.safe_dump({**profiles, "evaluate_host": {"warm": warm}}))
    dataset = load_dataset(root)
    (task,) = dataset.tasks.values()
    submission = write_submission(tmp_path / "s")
    next_one = Order(AttemptKey(task_id=task.task_id, submission="s"), Work(task, Sample()))
    folder = tmp_path / "runs" / job_id
    folder.mkdir(parents=True)
    async with (
        open_engine() as engine,
        open_resources(
            engine, dataset, job_id=job_id, folder=folder, upcoming=lambda count: [next_one] * count
        ) as bench,
    ):
        yield Trial(engine, bench, folder, task, submission)


async def test_a_warm_host_scores_as_a_cold_one_does_and_serves_one_attempt_only(tmp_path, job_id):
    async with trial(tmp_path, job_id) as trials:
        results = []
        for _ in range(3):
            results.append(await trials.score())
            await trials.spares(2 if len(results) > 1 else 1)  # a named one only once such was used
    for result in results:
        assert result.status == "PASS", result.error
        assert (result.metrics["gold"], result.metrics["said"], result.metrics["tmp"]) == (
            "the-gold",
            "42",
            [],
        )
        assert [host.name for host in result.hosts] == ["evaluator", "work"]
    assert len({result.metrics["uid"] for result in results}) == 3


async def test_a_host_that_waits_holds_neither_gold_nor_evaluator_nor_submission(tmp_path, job_id):
    async with trial(tmp_path, job_id) as trials:
        await trials.score()
        await trials.score()
        for spare in await trials.spares(2):
            look = await trials.engine.exec_create(
                spare.id, ["find", "/attempt", "-type", "f"], user=200_001, env={}, workdir="/", stdin=False
            )
            seen = b""
            async with trials.engine.exec_start(look) as stream:
                while (chunk := await stream.receive()) is not None:
                    seen += chunk.data if chunk.stream == "stdout" else b""
            files = seen.decode().split()
            assert files
            assert all(name.startswith("/attempt/.scorehost/") for name in files)


async def test_a_spare_that_died_is_not_used(tmp_path, job_id):
    async with trial(tmp_path, job_id) as trials:
        await trials.score()
        for spare in await trials.spares(1):
            await trials.engine.kill(spare.id)
        result = await trials.score()
    assert result.status == "PASS", result.error


async def test_no_host_waits_when_the_profile_says_so(tmp_path, job_id):
    async with trial(tmp_path, job_id, warm=0) as trials:
        await trials.score()
        await anyio.sleep(0.5)
        assert await trials.spares(0) == []


async def test_spares_give_way_to_an_attempt_that_needs_their_memory(tmp_path, job_id):
    async with trial(tmp_path, job_id) as trials:
        await trials.score()
        await trials.spares(1)
        with anyio.fail_after(20):
            async with trials.bench.pool.reserved(trials.bench.pool.capacity):
                pass
        assert (await trials.score()).status == "PASS"
