"""Images that are wrong from the start, or taken away while a job runs, on the real engine."""

from __future__ import annotations

import secrets
import subprocess

import pytest

from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.errors import AttemptFailed
from scorehost.hosts.images import Images
from scorehost.hosts.recipe import Recipe
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import bench_for, write_submission, write_task

pytestmark = [pytest.mark.anyio, pytest.mark.docker]
PASSES = 'def evaluate(inputs):\n    return {"status": "PASS"}\n'


def remove(image):
    subprocess.run(["docker", "rmi", "-f", image], check=True, capture_output=True)


@pytest.mark.parametrize("reference", ["Foo/Bar:1", "a b", "x:"])
async def test_a_name_that_no_image_can_have_is_no_defect_of_scorehost(scoring, tmp_path, reference):
    with pytest.raises(AttemptFailed) as caught:
        await Images(scoring.engine, tmp_path).resolve(reference, build_seconds=60)
    failure = caught.value.failure
    assert (failure.kind, failure.blame.value) == ("image_pull_failed", "environment")


async def test_a_base_in_quotes_is_no_defect_of_scorehost(scoring, tmp_path):
    (tmp_path / "Dockerfile").write_text('FROM "x"\n')
    with pytest.raises(AttemptFailed) as caught:
        await Images(scoring.engine, tmp_path / "logs").resolve(
            Recipe(tmp_path / "Dockerfile"), build_seconds=60
        )
    assert caught.value.failure.kind == "image_pull_failed"


async def test_an_image_that_is_removed_while_a_job_runs_is_built_again(scoring, tmp_path):
    root = write_task(tmp_path / "d", PASSES)
    (root / "profiles.yaml").write_text(
        "format: scorehost.profiles/1\nenvironment: docker\nevaluate_host: {warm: 0}\n"
    )
    recipe = root / "tasks" / "t" / "environment" / "evaluate.Dockerfile"
    recipe.parent.mkdir()
    recipe.write_text(f"FROM scorehost/python:3\nENV ONCE={secrets.token_hex(8)}\n")
    dataset = load_dataset(root)
    submission = write_submission(tmp_path / "s")
    results, image = [], ""
    async with bench_for(scoring.engine, dataset, scoring.job_id, tmp_path / "runs") as bench:
        for repeat in (1, 2, 3):
            key = AttemptKey(task_id="t", submission="s", repeat=repeat)
            order = Order(key, Work(dataset.tasks["t"], Sample(submission)))
            folder = tmp_path / "runs" / scoring.job_id / "attempts" / key.folder
            results.append(await score(bench, order, folder, lambda *_: None))
            if repeat == 1:
                image = results[0].hosts[0].image
                remove(image)
    remove(image)
    assert [result.status for result in results] == ["PASS", "ERROR", "PASS"]
    assert (results[1].error.kind, results[1].error.retryable) == ("start_failed", True)
    assert "No such image" in results[1].error.message
