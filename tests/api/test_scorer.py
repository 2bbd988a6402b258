"""Verdicts in a loop, from Python."""

from __future__ import annotations

import asyncio
import time

import anyio
import pytest

import scorehost.api.scorer as scorer_module
from scorehost.api import open_scorer
from scorehost.errors import UsageError
from scorehost.model.failure import Blame
from scorehost.runs.reader import read_checks
from trial import write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

EVALUATOR = """
from scorehost_sdk import evaluation_check
def evaluate(inputs):
    path = inputs["artifacts"].get("answer")
    right = path is not None and open(path).read().strip() == "42"
    row = evaluation_check("answer", status="PASS" if right else "FAIL")
    return {"status": row["status"], "metrics": {"sample": inputs["task"]["sample"]}, "checks": [row]}
"""


@pytest.fixture
def dataset(tmp_path):
    return write_task(tmp_path / "d", EVALUATOR, limits={"memory_mb": 128})


async def test_a_loop_gets_a_typed_verdict_for_each_submission(dataset, tmp_path):
    file = tmp_path / "answer.txt"
    file.write_text("42\n")
    async with open_scorer(dataset) as scorer:
        right = await scorer.score("t", {"answer": "42"})
        wrong = await scorer.score("t", {"artifacts/answer.txt": b"41"})
        from_file = await scorer.score("t", {"answer": file})
        nothing = await scorer.score("t", {})
    assert (right.status, right.score, right.error, right.folder) == ("PASS", 1.0, None, None)
    assert [row.id for row in right.checks] == ["answer"]
    assert (wrong.status, wrong.score, from_file.status, nothing.status) == ("FAIL", 0.0, "PASS", "FAIL")


async def test_a_failure_is_a_value_with_blame_and_not_an_exception(dataset, tmp_path):
    folder = tmp_path / "s"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts" / "answer.txt").symlink_to("/etc/passwd")
    async with open_scorer(dataset) as scorer:
        refused = await scorer.score("t", folder)
    assert (refused.status, refused.score) == ("ERROR", None)
    assert refused.error.blame is Blame.SUBMISSION


async def test_many_side_by_side_keep_apart(dataset):
    found = {}

    async def one(scorer, text):
        found[text] = (await scorer.score("t", {"answer": text})).status

    async with open_scorer(dataset, at_a_time=3) as scorer, anyio.create_task_group() as group:
        for number in (40, 41, 42, 43):
            group.start_soon(one, scorer, str(number))
    assert found == {"40": "FAIL", "41": "FAIL", "42": "PASS", "43": "FAIL"}


async def test_attempts_stay_only_where_they_are_asked_to(dataset, tmp_path):
    async with open_scorer(dataset, keep=tmp_path / "runs") as scorer:
        kept = await scorer.score("t", {"answer": "42"})
    assert (kept.folder / "manifest.json").exists()
    async with open_scorer(dataset) as scorer:
        await scorer.score("t", {"answer": "42"})
        assert not list(scorer._folder.glob("attempts/*/*/*"))


async def test_a_cancelled_verdict_leaves_nothing_and_the_next_one_comes(dataset):
    async with open_scorer(dataset) as scorer:
        with anyio.move_on_after(0.15):
            await scorer.score("t", {"answer": "42"})
        begun = time.monotonic()
        assert (await scorer.score("t", {"answer": "42"})).status == "PASS"
        assert time.monotonic() - begun < 20


async def test_a_cancel_in_the_moment_in_which_an_attempt_is_shown_leaves_nothing_of_it(
    dataset, tmp_path, monkeypatch
):
    loop, runs, seen = asyncio.get_running_loop(), tmp_path / "runs", []

    def reads_while_cancelled(folder):
        seen.append((folder / "result.json").exists())
        loop.call_soon_threadsafe(task.cancel)
        return read_checks(folder)

    monkeypatch.setattr(scorer_module, "read_checks", reads_while_cancelled)
    async with open_scorer(dataset, keep=runs) as scorer:
        task = asyncio.create_task(scorer.score("t", {"answer": "42"}))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == [True]
        assert list(runs.glob("*/attempts/*/*/*")) == []


@pytest.mark.parametrize(
    ("task", "files", "name", "said"),
    [
        ("nosuch", {}, "candidate", "no task 'nosuch'"),
        ("t", {"other": "x"}, "candidate", "'other' is no artifact"),
        ("t", {"artifacts/../../x": "x"}, "candidate", "leads out"),
        ("t", {"answer": "x"}, "a b", "no name of a submission"),
    ],
)
async def test_what_is_asked_wrongly_says_what_there_is(dataset, task, files, name, said):
    async with open_scorer(dataset) as scorer:
        with pytest.raises(UsageError, match=said):
            await scorer.score(task, files, name=name)
