"""What a scorer refuses, without an engine: every wrong call is one typed error that says what to do."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from scorehost.api import open_scorer
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_state import INFO
from scorehost.errors import EngineUnreachable, SpecError, UsageError
from trial import write_task

pytestmark = pytest.mark.anyio

EVALUATOR = "def evaluate(inputs): return {'status': 'PASS'}\n"
ARTIFACTS = {
    "publishable": [
        {"id": "answer", "path": "artifacts/answer.txt"},
        {"id": "pages", "path": "artifacts/pages", "kind": "tree"},
    ]
}
GIB = 1024**3


def opener(info=INFO):
    @asynccontextmanager
    async def opened(_host):
        async with MemoryEngine(info) as engine:
            yield engine

    return opened


@asynccontextmanager
async def unreachable(_host):
    raise EngineUnreachable("Nothing answers.", hint="Start it.")
    yield


@pytest.fixture
def dataset(tmp_path):
    return write_task(tmp_path / "d", EVALUATOR, artifacts=ARTIFACTS, limits={"memory_mb": 256})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"other": "x"}, "'other' is no artifact of the task"),
        ({"/etc/passwd": "x"}, "absolute path"),
        ({"artifacts/pages/../../x": "x"}, "leads out"),
        ({"artifacts/answer.txt/more": "x"}, "below none"),
        ({"artifacts/pages//x": "x"}, "no plain path"),
        ({"artifacts/pages/./x": "x"}, "no plain path"),
        ({"artifacts/pages/\0": "x"}, "no plain path"),
        ({"artifacts/pages/\ud800": "x"}, "no plain path"),
        ({"artifacts/pages/" + "x" * 300: "x"}, "File name too long"),
        ({"pages": "x"}, "'pages' is a tree of files"),
        ({"answer": "x", "artifacts/answer.txt": "y"}, "named twice"),
        ({"artifacts/pages/a": "x", "artifacts/pages/a/b": "y"}, "lies below it"),
        ({"answer": 42}, "of the type int"),
        ({"answer": None}, "cannot be None"),
        ({1: "x"}, "1 names no artifact"),
        ({"answer": Path("/no/such/file")}, "is not a file"),
        ({"answer": Path("/")}, "is not a file"),
        (Path("/no/such/folder"), "is no folder"),
        ("text", "cannot be of the type str"),
        (None, "cannot be None"),
    ],
)
async def test_contents_that_cannot_be_handed_in_are_a_usage_error_with_a_hint(dataset, files, said):
    async with open_scorer(dataset, engine=opener()) as scorer:
        with pytest.raises(UsageError, match=said) as refused:
            await scorer.score("t", files)
        assert refused.value.hint
        assert not list(scorer._folder.glob("hand-in-*"))


@pytest.mark.parametrize(
    ("task", "name", "said"),
    [
        ("nosuch", "candidate", "no task 'nosuch'"),
        ("t", "a b", "no name of a submission"),
        ("t", "..", "no name of a submission"),
    ],
)
async def test_an_unknown_task_or_a_wrong_name_is_a_usage_error(dataset, task, name, said):
    async with open_scorer(dataset, engine=opener()) as scorer:
        with pytest.raises(UsageError, match=said):
            await scorer.score(task, {"answer": "x"}, name=name)


@pytest.mark.parametrize("number", [0, -1])
async def test_at_a_time_is_one_or_more(dataset, number):
    with pytest.raises(UsageError, match="at_a_time"):
        async with open_scorer(dataset, engine=opener(), at_a_time=number):
            pass


async def test_what_cannot_be_opened_says_so_and_leaves_no_folder(dataset, tmp_path):
    with pytest.raises(EngineUnreachable):
        async with open_scorer(dataset, engine=unreachable, keep=tmp_path / "runs"):
            pass
    with pytest.raises(SpecError, match=r"no dataset\.yaml"):
        async with open_scorer(tmp_path / "nowhere", engine=opener()):
            pass
    limitless = replace(INFO, warnings=("WARNING: No swap limit support",))
    with pytest.raises(UsageError, match="No swap limit support") as refused:
        async with open_scorer(dataset, engine=opener(limitless), keep=tmp_path / "runs"):
            pass
    assert "allow_unenforced=True" in refused.value.hint
    assert not (tmp_path / "runs").exists()


async def test_an_engine_without_a_limit_is_taken_when_the_caller_accepts_it(dataset):
    limitless = replace(INFO, warnings=("WARNING: No swap limit support",))
    async with open_scorer(dataset, engine=opener(limitless), allow_unenforced=True) as scorer:
        assert list(scorer.dataset.tasks) == ["t"]


async def test_a_task_whose_hosts_can_never_fit_is_refused_and_the_others_are_not_held_up(dataset):
    # 80 % of 256 MiB are 204 MiB; the task asks for 256.
    small = replace(INFO, memory_bytes=GIB // 4)
    async with open_scorer(dataset, engine=opener(small)) as scorer:
        with pytest.raises(UsageError, match=r"t needs 256 MiB .* has 204"):
            await scorer.score("t", {"answer": "x"})


async def test_a_task_whose_evaluator_asks_agents_is_refused_by_name(tmp_path):
    dataset = write_task(tmp_path / "d", EVALUATOR, agent_profiles=[{"id": "judge"}])
    (dataset / "profiles.yaml").write_text(
        "format: scorehost.profiles/1\nenvironment: docker\n"
        "agent_profiles: {judge: {executor: command, command: [python3, x.py]}}\n"
    )
    (dataset / "x.py").write_text("")
    async with open_scorer(dataset, engine=opener()) as scorer:
        with pytest.raises(UsageError, match=r"asks agents \(judge\)"):
            await scorer.score("t", {"answer": "x"})


async def test_no_score_is_taken_after_the_end_of_the_block(dataset):
    async with open_scorer(dataset, engine=opener()) as scorer:
        pass
    with pytest.raises(UsageError, match="is closed"):
        await scorer.score("t", {"answer": "x"})


def test_another_event_loop_is_told_that_the_scorer_is_not_its_own(dataset):
    async def opened():
        async with open_scorer(dataset, engine=opener()) as scorer:
            return scorer

    scorer = asyncio.run(opened())
    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(scorer.score("t", {"answer": "x"}))


class OwnError(Exception):
    """Somebody else's."""


@pytest.mark.parametrize("raised", [OwnError("x"), KeyboardInterrupt(), SystemExit(3)])
async def test_what_the_block_raises_comes_out_as_it_is(dataset, raised):
    with pytest.raises(type(raised)) as found:
        async with open_scorer(dataset, engine=opener()):
            raise raised
    assert found.value is raised


async def test_a_group_of_errors_that_the_block_raises_stays_a_group(dataset):
    own = ExceptionGroup("two", [OwnError("a"), OwnError("b")])
    with pytest.raises(ExceptionGroup) as found:
        async with open_scorer(dataset, engine=opener()):
            raise own
    assert found.value is own


async def test_a_usage_error_of_a_score_ends_the_block_as_itself(dataset):
    with pytest.raises(UsageError, match="no task"):
        async with open_scorer(dataset, engine=opener()) as scorer:
            await scorer.score("nosuch", {})


async def test_cancelling_the_block_is_a_cancel_and_nothing_else(dataset):
    with anyio.move_on_after(0.05) as scope:
        async with open_scorer(dataset, engine=opener()):
            await anyio.sleep_forever()
    assert scope.cancelled_caught

    async def block():
        async with open_scorer(dataset, engine=opener()):
            await asyncio.sleep(60)

    task = asyncio.create_task(block())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_text_that_is_no_unicode_is_the_submissions_own_fault(dataset):
    async with open_scorer(dataset, engine=opener()) as scorer:
        for files in ({"answer": "half \ud800"}, {"artifacts/pages/a": "half \ud800"}):
            scored = await scorer.score("t", files)
            assert (scored.status, scored.error.kind) == ("ERROR", "invalid_submission")
            assert "not valid Unicode" in scored.error.message


async def test_nothing_is_left_on_disk_of_a_scorer_that_keeps_nothing(dataset):
    async with open_scorer(dataset, engine=opener()) as scorer:
        folder = scorer._folder
        await scorer.score("t", {"artifacts/pages/a": "x", "answer": "y"})  # no image there: an ERROR
        assert not list(folder.glob("hand-in-*"))
        assert not list(folder.glob("attempts/*/*/*"))
    assert not folder.parent.exists()
