"""Gold or evaluator that change while they are used: no verdict comes of it."""

from __future__ import annotations

import os

import pytest
from memory_runner import Runner, memory_engine, scored_on

from scorehost.attempt.digests import TaskTrees, Tools
from scorehost.engine.opening import open_engine
from scorehost.runs.scored import scored as summed_up
from scorehost.spec.gold_key import GoldKey
from scorehost.spec.loading import load_dataset
from trial import score_one, write_submission, write_task

EVALUATOR = 'def evaluate(inputs):\n    return {"status": "PASS"}\n'
FOLDERS = ["evaluation", "task", ".scorehost", "artifacts", "workspace"]
OTHER = "sha256:" + "0" * 64
FAILED = {
    "kind": "failed",
    "error": {
        "kind": "submission_fault",
        "type": "SubmissionFault",
        "place": "",
        "message": "it broke its call",
    },
}


@pytest.fixture
def place(tmp_path):
    write_task(tmp_path / "d", EVALUATOR)
    write_submission(tmp_path / "s")
    return tmp_path


async def attempt(place, job_id, runner):
    async with memory_engine(runner) as engine:
        return await scored_on(engine, place / "d", place / "s", place / "runs", job_id)


@pytest.mark.anyio
async def test_quiet_files_change_nothing(place, job_id):
    done = await attempt(place, job_id, Runner())
    assert (done.result.status, done.result.score, done.result.warnings) == ("PASS", 1.0, ())


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["evaluation/gold.txt", "evaluator.py"])
@pytest.mark.parametrize("how", ["rewritten", "removed", "replaced", "executable"])
async def test_a_file_of_the_task_that_changes_during_the_attempt_leaves_no_verdict(place, job_id, name, how):
    file = place / "d/tasks/t" / name

    async def work():
        if how == "rewritten":  # same size, same times
            before = file.stat()
            file.write_bytes(file.read_bytes().swapcase())
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif how == "removed":
            file.unlink()
        elif how == "replaced":
            (place / "new").write_bytes(b"new")
            (place / "new").replace(file)
        else:
            file.chmod(0o755)

    done = await attempt(place, job_id, Runner(work=work))
    error = done.result.error
    assert (error.kind, error.phase, error.blame, error.retryable) == (
        "changed_input",
        "collect",
        "dataset",
        False,
    )
    assert name in error.message
    assert (done.result.status, done.result.score) == ("ERROR", None)
    # Nobody who hands in could have done it: it says nothing about the submission.
    assert summed_up(done.result, ()).left_out


@pytest.mark.anyio
async def test_a_file_that_is_touched_and_holds_the_same_is_no_change(place, job_id):
    file = place / "d/tasks/t/evaluation/gold.txt"

    async def work():
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(data)

    done = await attempt(place, job_id, Runner(work=work))
    assert done.result.status == "PASS"


@pytest.mark.anyio
async def test_another_reason_stands_when_files_changed_too(place, job_id):
    async def work():
        (place / "d/tasks/t/evaluator.py").write_text("changed = 1\n")

    done = await attempt(place, job_id, Runner(error=FAILED, work=work))
    assert done.kind == "submission_fault"


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.anyio
async def test_a_result_from_a_host_whose_files_changed_does_not_count(place, job_id, folder):
    done = await attempt(place, job_id, Runner(last_trees={f"/attempt/{folder}": OTHER}))
    error = done.result.error
    assert (error.kind, error.phase, error.retryable) == ("changed_input", "evaluate", False)
    assert f"/attempt/{folder}" in error.message
    # Whoever gets around the host's protections must not gain by it.
    assert summed_up(done.result, ()).counts_as_lowest


@pytest.mark.anyio
async def test_a_failure_in_such_a_host_stays_what_it_is_and_names_the_change(place, job_id):
    done = await attempt(place, job_id, Runner(error=FAILED, last_trees={"/attempt/task": OTHER}))
    assert done.kind == "submission_fault"
    assert "/attempt/task" in done.result.error.message


@pytest.mark.anyio
async def test_a_folder_that_the_runner_cannot_read_any_more_says_nothing(place, job_id):
    done = await attempt(place, job_id, Runner(last_trees={"/attempt/evaluation": "unreadable"}))
    assert done.result.status == "PASS"


def test_only_files_that_look_touched_are_hashed_again(place, monkeypatch):
    (task,) = load_dataset(place / "d").tasks.values()
    trees = TaskTrees.read(task, GoldKey(b"k" * 32), Tools.read())
    hashed = []
    monkeypatch.setattr(
        "scorehost.attempt.digests._is_still", lambda entry: hashed.append(entry.path) or True
    )
    assert trees.changed(task) == ""
    assert hashed == []
    (place / "d/tasks/t/evaluation/gold.txt").touch()
    assert trees.changed(task) == ""
    assert hashed == ["gold.txt"]


WAITS = """
    import time
    def evaluate(inputs):
        time.sleep(0.5)
        return {"status": "PASS"}
    """


@pytest.mark.docker
@pytest.mark.anyio
async def test_gold_that_changes_under_a_running_evaluator_is_told_on_a_real_engine(tmp_path, job_id):
    root = write_task(tmp_path / "d", WAITS)
    submission = write_submission(tmp_path / "s")

    def meet(phase):
        if phase == "evaluate":
            (root / "tasks/t/evaluation/gold.txt").write_bytes(b"gilt")

    async with open_engine() as engine:
        done = await scored_on(engine, root, submission, tmp_path / "runs", job_id, meet=meet)
    assert (done.kind, done.result.error.phase) == ("changed_input", "collect")


EXHAUSTED = """
    import os
    def evaluate(inputs):
        global held
        held = []
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return {"status": "PASS"}
    """


@pytest.mark.docker
@pytest.mark.anyio
async def test_an_evaluator_that_leaves_no_descriptor_free_keeps_its_verdict(tmp_path, job_id):
    root = write_task(tmp_path / "d", EXHAUSTED)
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert (done.result.status, done.kind) == ("PASS", None)
