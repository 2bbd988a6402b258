"""A job taken up again: finished attempts byte for byte, everything else exactly once."""

from __future__ import annotations

import json
import os
import shutil
import threading

import anyio
import pytest
from scripted_jobs import Script, make_dataset, make_result, make_task, publish, run, some_tasks

from scorehost.attempt.work import Work
from scorehost.errors import UsageError
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.runs.claim import locked
from scorehost.runs.folder import JobFolder, new_folder
from scorehost.runs.journal import FILE, read_history
from scorehost.runs.sweep import sweep
from scorehost.submissions.sample import Sample


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "attempts").rglob("*"))
        if path.is_file()
    }


def interrupted(root, dataset, after, **options):
    """A job that was stopped when the attempt on task `after` began."""
    stop = anyio.Event()

    async def forever():
        stop.set()
        await anyio.sleep_forever()

    script = Script(lambda order: forever() if order.key.task_id == after else {})
    return run(root, dataset, script, stop=stop, submissions=("solution",), **options)


def test_only_unfinished_attempts_run_again(tmp_path):
    dataset = some_tasks(tmp_path, *"abcd")
    first = interrupted(tmp_path, dataset, "c")
    before = files(first.folder)
    script = Script()
    second = run(tmp_path, dataset, script, resume="latest")
    assert script.keys == ["c/solution/1.1", "d/solution/1.1"]
    after = files(second.folder)
    assert before.items() <= after.items()
    assert (second.status, second.exit_status, len(second.rows)) == ("complete", 0, 4)
    assert second.summary["done"] == second.summary["planned"] == 4
    assert read_history(second.folder / FILE).broken is None


def test_a_job_is_named_by_id_beginning_folder_or_latest(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    first = run(tmp_path, dataset, submissions=("solution",))
    for word in (first.job_id, first.job_id[:12], str(first.folder), "latest"):
        assert run(tmp_path, dataset, resume=word).job_id == first.job_id


def test_an_unknown_job_and_a_beginning_of_two_are_errors(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    run(tmp_path, dataset, submissions=("solution",))
    run(tmp_path, dataset, submissions=("solution",))
    with pytest.raises(UsageError, match="no job 'zzz'"):
        run(tmp_path, dataset, resume="zzz")
    with pytest.raises(UsageError, match="2 jobs"):
        run(tmp_path, dataset, resume="20")


def test_a_resume_keeps_what_was_asked_and_takes_how_to_run(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b")
    interrupted(tmp_path, dataset, "b", repeat=2, name="label")
    script = Script(pause=0.01)
    outcome = run(tmp_path, dataset, script, resume="latest", concurrency=3)
    assert outcome.summary["planned"] == 4
    assert outcome.summary["name"] == "label"
    assert script.most == 3


@pytest.mark.parametrize("extra", [{"submissions": ("empty",)}, {"tasks": ("a",)}, {"repeat": 2}])
def test_a_resume_that_asks_for_other_attempts_is_refused(tmp_path, extra):
    dataset = some_tasks(tmp_path, "a")
    run(tmp_path, dataset, submissions=("solution",))
    with pytest.raises(UsageError, match="cannot go with --resume"):
        run(tmp_path, dataset, resume="latest", **extra)


def test_a_resume_with_another_dataset_is_refused_and_with_its_own_is_not(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    run(tmp_path, dataset, submissions=("solution",))
    other = some_tasks(tmp_path / "other", "a").model_copy(update={"dataset_id": "exam"})
    with pytest.raises(UsageError, match="the dataset is exam, not demo"):
        run(tmp_path, other, resume="latest")
    assert run(tmp_path, dataset, resume="latest").status == "complete"


def test_a_dataset_that_was_moved_is_taken_for_what_it_is_by_its_content(tmp_path):
    dataset = some_tasks(tmp_path / "old", "a", "b")
    stop = anyio.Event()
    script = Script(lambda order: stop.set() or {} if order.key.task_id == "a" else anyio.sleep(9))
    first = run(tmp_path, dataset, script, submissions=("solution",), stop=stop, concurrency=1)
    assert first.status == "interrupted"
    record = (first.folder / "job.json").read_bytes()
    (tmp_path / "old").rename(tmp_path / "new")
    moved = some_tasks(tmp_path / "new", "a", "b")
    script = Script()
    assert run(tmp_path, moved, script, resume="latest").status == "complete"
    assert len(script.keys) == 2 - len(first.rows)
    assert (first.folder / "job.json").read_bytes() == record


@pytest.mark.parametrize("what", ["content", "new file", "linked", "executable"])
def test_a_submission_whose_folder_changed_is_refused_by_name(tmp_path, what):
    dataset = some_tasks(tmp_path, "a", artifacts=(("tree", "artifacts/tree/"),))
    tree = tmp_path / "team/a/artifacts/tree"
    tree.mkdir(parents=True)
    (tree / "x").write_text("1")
    (tmp_path / "team/a/README").write_text("of no account")
    run(tmp_path, dataset, submissions=(str(tmp_path / "team"),))
    (tmp_path / "team/a/README").write_text("nothing that was declared")
    os.utime(tree / "x", (1, 1))
    assert run(tmp_path, dataset, resume="latest").status == "complete"
    if what == "content":
        (tree / "x").write_text("2")
    elif what == "new file":
        (tree / "y").write_text("")
    elif what == "linked":
        (tree / "x").rename(tmp_path / "elsewhere")
        (tree / "x").symlink_to(tmp_path / "elsewhere")
    else:
        (tree / "x").chmod(0o755)
    with pytest.raises(UsageError, match=rf"the submission team: {tmp_path}/team"):
        run(tmp_path, dataset, resume="latest")


def test_a_solution_that_changed_is_a_submission_that_changed(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    answer = tmp_path / "tasks/a/solution/artifacts/answer.txt"
    answer.parent.mkdir(parents=True)
    answer.write_text("1")
    run(tmp_path, dataset, submissions=("solution",))
    answer.write_text("2")
    with pytest.raises(UsageError, match="the submission solution"):
        run(tmp_path, dataset, resume="latest")


@pytest.mark.parametrize("damage", ["torn", "missing", "changed", "another's"])
def test_a_damaged_attempt_is_kept_aside_and_scored_again(tmp_path, damage):
    dataset = some_tasks(tmp_path, "a", "b")
    first = run(tmp_path, dataset, submissions=("solution",))
    place = first.folder / "attempts/a/solution/1.1"
    result = place / "result.json"
    if damage == "torn":
        result.write_bytes(result.read_bytes()[:50])
    elif damage == "missing":
        result.unlink()
    elif damage == "changed":
        result.write_bytes(result.read_bytes().replace(b'"score": 1.0', b'"score": 0.5'))
    else:
        shutil.copy(first.folder / "attempts/b/solution/1.1/result.json", result)
    script, watch = Script(), []
    second = run(tmp_path, dataset, script, resume="latest", watch=watch)
    assert script.keys == ["a/solution/1.1"]
    assert script.orders[0].number == 2
    assert (second.folder / "tries/a/solution/1.1/1").is_dir()
    assert any(event.kind == "warning" and "damaged" in event.fields["text"] for event in watch)
    assert second.status == "complete"


def test_an_attempt_that_was_published_but_not_journaled_is_kept(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b")
    first = interrupted(tmp_path, dataset, "b")
    order = Order(AttemptKey(task_id="b", submission="solution"), Work(dataset.tasks["b"], Sample()))
    publish(first.folder / "attempts/b/solution/1.1", make_result(order, first.job_id))
    script = Script()
    second = run(tmp_path, dataset, script, resume="latest")
    assert script.orders == []
    assert second.status == "complete"
    kinds = [json.loads(line)["kind"] for line in (second.folder / FILE).read_bytes().splitlines()]
    assert "attempt_found" in kinds


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("code", "a: evaluator.py"),
        ("gold", "a: gold"),
        ("spec", "a: task.yaml"),
        ("gone", "the task b is gone"),
    ],
)
def test_a_changed_dataset_is_refused_and_what_changed_is_named(tmp_path, change, named):
    def dataset(*, before):
        gold = tmp_path / "gold.txt"
        gold.write_text("1" if before or change != "gold" else "2")
        weight = 1.0 if before or change != "spec" else 2.0
        task = make_task(tmp_path, "a", weight=weight).model_copy(update={"gold": {"g": gold}})
        if not before and change == "code":
            (tmp_path / "tasks/a/evaluator.py").write_text("# changed\n")
        both = [task] if not before and change == "gone" else [task, make_task(tmp_path, "b")]
        return make_dataset(tmp_path, *both)

    run(tmp_path, dataset(before=True), submissions=("solution",))
    with pytest.raises(UsageError, match=named):
        run(tmp_path, dataset(before=False), resume="latest")


def test_a_changed_submission_is_refused(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    path = tmp_path / "p.jsonl"
    path.write_text('{"task_id": "a", "answer": "1"}\n')
    run(tmp_path, dataset, predictions=path)
    assert run(tmp_path, dataset, resume="latest").status == "complete"
    path.write_text('{"task_id": "a", "answer": "2"}\n')
    with pytest.raises(UsageError, match="the submission p"):
        run(tmp_path, dataset, resume="latest")


def test_a_change_of_what_is_taken_for_a_declared_path_is_refused(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    (tmp_path / "team/a").mkdir(parents=True)
    flat = tmp_path / "team/a/answer.txt"  # for artifacts/answer.txt
    flat.write_text("1")
    (tmp_path / "team/a/notes").write_text("1")
    run(tmp_path, dataset, submissions=(str(tmp_path / "team"),))
    (tmp_path / "team/a/notes").write_text("2")
    assert run(tmp_path, dataset, resume="latest").status == "complete"
    flat.write_text("2")
    with pytest.raises(UsageError, match="the submission team"):
        run(tmp_path, dataset, resume="latest")


def test_new_samples_in_a_submission_are_refused(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    (tmp_path / "team/a/samples/1").mkdir(parents=True)
    run(tmp_path, dataset, submissions=(str(tmp_path / "team"),))
    (tmp_path / "team/a/samples/2").mkdir()
    with pytest.raises(UsageError, match="the submission team has other samples"):
        run(tmp_path, dataset, resume="latest")


def test_a_job_resumes_from_another_folder_of_the_machine(tmp_path, monkeypatch):
    dataset = some_tasks(tmp_path, "a", "b")
    (tmp_path / "team").mkdir()
    monkeypatch.chdir(tmp_path)
    first = run(tmp_path, dataset, submissions=("team",))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    shutil.rmtree(first.folder / "attempts/b")
    script = Script()
    assert run(tmp_path, dataset, script, resume=str(first.folder)).status == "complete"
    assert script.keys == ["b/team/1.1"]


def test_a_folder_of_submissions_that_grew_changes_no_job(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    (tmp_path / "all/one").mkdir(parents=True)
    run(tmp_path, dataset, submissions_dir=tmp_path / "all")
    (tmp_path / "all/two").mkdir()
    assert run(tmp_path, dataset, resume="latest").summary["planned"] == 1


def test_rerun_scores_errors_again_and_keeps_the_earlier_tries(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b", "c")
    kinds = {"a": {}, "b": {"kind": "host_lost"}, "c": {"kind": "evaluator_oom"}}
    run(
        tmp_path,
        dataset,
        Script(lambda o: kinds[o.key.task_id]),
        submissions=("solution",),
        retry_errors=0,
    )
    script = Script()
    second = run(tmp_path, dataset, script, resume="latest", rerun="error:host_lost")
    assert [(str(order.key), order.number) for order in script.orders] == [("b/solution/1.1", 2)]
    tried = json.loads((second.folder / "tries/b/solution/1.1/1/result.json").read_bytes())
    assert tried["error"]["kind"] == "host_lost"
    third = run(tmp_path, dataset, Script(), resume="latest", rerun="error")
    assert [row.status for row in third.rows] == ["PASS", "PASS", "PASS"]
    assert third.exit_status == 0


def test_rerun_needs_a_job_and_a_known_kind(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    run(tmp_path, dataset, submissions=("solution",))
    with pytest.raises(UsageError, match="--resume"):
        run(tmp_path, dataset, submissions=("solution",), rerun="error")
    with pytest.raises(UsageError, match="host_lost"):
        run(tmp_path, dataset, resume="latest", rerun="error:hostlost")
    with pytest.raises(UsageError, match="only `error`"):
        run(tmp_path, dataset, resume="latest", rerun="fail")


def test_two_processes_cannot_run_one_job(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    first = run(tmp_path, dataset, submissions=("solution",))
    with locked(first.folder), pytest.raises(UsageError, match="another process"):
        run(tmp_path, dataset, resume="latest")


def test_a_job_folder_is_for_its_owner_only(tmp_path):
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), submissions=("solution",))
    old = os.umask(0)
    os.umask(old)
    for path in [outcome.folder, *outcome.folder.rglob("*")]:
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_latest_points_to_the_newest_job(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    for _ in range(2):
        outcome = run(tmp_path, dataset, submissions=("solution",))
        assert (tmp_path / "runs/latest").resolve() == outcome.folder


def test_what_was_asked_wrongly_leaves_no_folder(tmp_path):
    with pytest.raises(UsageError):
        run(tmp_path, some_tasks(tmp_path, "a"))
    assert not (tmp_path / "runs").exists()


def test_the_next_run_removes_what_killed_jobs_left_half_done(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    first = run(tmp_path, dataset, submissions=("solution",))
    (first.folder / "incoming/x").mkdir(parents=True)
    (first.folder / "attempts/a/solution/.1.2.draft/logs").mkdir(parents=True)
    (first.folder / ".reserve.partial").touch()
    half = JobFolder(tmp_path / "runs/20200101-000000-aaaa")
    (half.path / "incoming").mkdir(parents=True)
    alive = JobFolder(tmp_path / "runs/20200101-000000-bbbb")
    alive.path.mkdir()
    with locked(alive.path):
        run(tmp_path, dataset, submissions=("solution",))
    left = [path.name for path in first.folder.rglob("*") if path.name.startswith(".")]
    assert left == [".lock"]
    assert not (first.folder / "incoming").exists()
    assert not half.path.exists()
    assert alive.path.exists()
    assert (first.folder / "job.json").exists()


def test_a_sweep_takes_no_folder_that_another_job_is_just_making(tmp_path):
    over = threading.Event()

    def sweeping():
        while not over.is_set():
            sweep(tmp_path)

    sweepers = [threading.Thread(target=sweeping) for _ in range(2)]
    for sweeper in sweepers:
        sweeper.start()
    try:
        for number in range(150):
            with new_folder(tmp_path, f"20261130-074512-{number:04x}") as folder:
                (folder.path / "held").touch()
    finally:
        over.set()
        for sweeper in sweepers:
            sweeper.join()
    assert not list(tmp_path.iterdir())


def test_a_try_that_was_moved_but_not_journaled_is_told_by_the_next_sitting(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    first = run(tmp_path, dataset, submissions=("solution",))
    kept = first.folder / "attempts/a/solution/1.1"
    (first.folder / "tries/a/solution/1.1").mkdir(parents=True)
    kept.rename(first.folder / "tries/a/solution/1.1/1")  # and here it was killed
    second = run(tmp_path, dataset, Script(), resume="latest")
    journal = first.folder / FILE
    kinds = [json.loads(line)["kind"] for line in journal.read_bytes().splitlines()]
    assert [kind for kind in kinds if kind in ("attempt_finished", "attempt_retried")] == [
        "attempt_finished",
        "attempt_retried",
        "attempt_finished",
    ]
    assert [row.status for row in second.rows] == ["PASS"]

    # Killed again, after the second try was shown and before its line was written: it stands all the same.
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if b'"attempt_finished"' in line)
    journal.write_bytes(b"".join(lines[:last]))
    before = files(first.folder)
    script = Script()
    third = run(tmp_path, dataset, script, resume="latest")
    assert script.keys == []
    assert files(third.folder) == before
    assert not (first.folder / "tries/a/solution/1.1/2").exists()
