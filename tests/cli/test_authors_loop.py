"""The author's loop without Docker: locks, watched files, kept hosts, and what the commands refuse."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from scorehost import api
from scorehost.api.diagnosis import clean, doctor
from scorehost.cli import watching
from scorehost.cli.root import root
from scorehost.engine.door import ContainerSpec
from scorehost.engine.memory import MemoryEngine
from scorehost.errors import UsageError
from scorehost.files.removal import remove_tree
from scorehost.hosts.clean import clean_job
from scorehost.hosts.kept import docker
from scorehost.hosts.labels import host_labels
from scorehost.spec.loading import load_dataset

BASE = "scorehost/python:3"
JOB = "20261130-074512-7f3a"


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    api.init(folder)
    return folder


def opener(*images):
    @asynccontextmanager
    async def opened(_host):
        async with MemoryEngine() as engine:
            for image in images:
                engine.images.add(image)
            yield engine

    return opened


def canonical_digest(value):
    """As the first release took it: sorted keys, no spaces, numbers as Python writes them."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def files_digest(files):
    hashed = {name: "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    return canonical_digest(hashed)


def lock(dataset, *images):
    async def main():
        return await api.lock(dataset, engine=opener(*images))

    return anyio.run(main)


def locked_run(dataset, *images):
    asked = api.ScoreAsked(dataset=dataset, submissions=("solution",))
    running = api.Running(out=dataset / "runs", locked=True, retry_errors=0)

    async def main():
        return await api.run(asked, running, lambda _event: None, engine=opener(*images))

    return anyio.run(main)


def test_a_lock_pins_every_task_and_image(dataset):
    path = lock(dataset, BASE)
    content = json.loads(path.read_text())
    assert path == dataset / "scorehost.lock"
    assert content["images"][BASE]["id"].startswith("sha256:")
    assert set(content["tasks"]) == {"count-words"}
    assert content["tasks"]["count-words"]["gold"].startswith("gold-hmac:")


def test_what_is_not_on_the_engine_cannot_be_pinned(dataset):
    with pytest.raises(UsageError, match="cannot be pinned: scorehost/python:3"):
        lock(dataset)
    assert not (dataset / "scorehost.lock").exists()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("tasks/count-words/evaluator.py", "count-words: evaluator.py, lib/ or shared/ changed"),
        ("tasks/count-words/evaluation/expected.json", "count-words: gold changed"),
        ("tasks/count-words/task.yaml", "count-words: task.yaml or dataset.yaml changed"),
        ("dataset.yaml", "the dataset is data 0.2.0, locked is data 0.1.0"),
    ],
)
def test_a_locked_run_names_what_changed_and_scores_nothing(dataset, path, words):
    lock(dataset, BASE)
    text = (dataset / path).read_text()
    changes = {
        "dataset.yaml": text.replace("0.1.0", "0.2.0"),
        "tasks/count-words/task.yaml": text.replace("description: ", "description: New. ", 1),
    }
    (dataset / path).write_text(changes.get(path, text + "\n"))
    with pytest.raises(UsageError) as caught:
        locked_run(dataset, BASE)
    assert words in str(caught.value)
    assert not (dataset / "runs").exists()


def test_a_lock_cannot_be_checked_under_another_gold_key_and_says_so(dataset):
    lock(dataset, BASE)
    (dataset / "gold.key").write_bytes(b"n" * 32)
    with pytest.raises(UsageError, match=r"gold cannot be compared: gold\.key is not the one") as caught:
        locked_run(dataset, BASE)
    assert "gold changed" not in str(caught.value)


@pytest.mark.parametrize("change", [False, True])
def test_a_lock_of_the_first_release_is_checked_as_it_was_made(dataset, change):
    (task,) = load_dataset(dataset).tasks.values()
    content = json.loads(lock(dataset, BASE).read_text())
    del content["gold_key"]
    said = task.spec.model_dump(mode="json")
    evaluation = said["evaluation"]  # without the keys that came later
    del evaluation["file_locks"], evaluation["tolerate_agent_faults"]
    del evaluation["tmpfs_exec"], evaluation["env"], said["limits"]["open_files"]
    del evaluation["output"]["direction"], evaluation["output"]["verdict"]
    pins = {"spec": canonical_digest(said), "code": files_digest(task.code), "gold": files_digest(task.gold)}
    content["format"] = "scorehost.lock/1"
    content["tasks"]["count-words"].update(pins)
    (dataset / "scorehost.lock").write_text(json.dumps(content))
    if change:
        gold = dataset / "tasks/count-words/evaluation/expected.json"
        gold.write_text(gold.read_text() + " ")
        with pytest.raises(UsageError, match="count-words: gold changed"):
            locked_run(dataset, BASE)
    else:
        assert len(locked_run(dataset, BASE).rows) == 1


def test_a_locked_run_refuses_an_image_that_is_gone_and_a_lock_that_is_not_there(dataset):
    with pytest.raises(UsageError, match="check --lock"):
        locked_run(dataset, BASE)
    lock(dataset, BASE)
    with pytest.raises(UsageError, match="image scorehost/python:3 is not on the engine"):
        locked_run(dataset)


def test_a_locked_run_of_what_was_locked_is_a_run(dataset):
    lock(dataset, BASE)
    assert len(locked_run(dataset, BASE).rows) == 1


def test_check_warns_of_a_tag_that_may_move(dataset):
    path = dataset / "tasks/count-words/task.yaml"
    path.write_text(path.read_text() + "  docker_image: python:3.12-slim\n")
    assert api.moving_tags(dataset) == ["python:3.12-slim"]
    result = CliRunner().invoke(root, ["check", str(dataset)], standalone_mode=False)
    assert "image python:3.12-slim has no digest" in result.stderr
    pinned = path.read_text().replace("3.12-slim", "3.12-slim@sha256:" + "0" * 64)
    path.write_text(pinned)
    assert api.moving_tags(dataset) == []


def changes_after(asked, act, out=Path("runs")):
    """What `wait_for_change` gives when `act` happens during its first sleep."""
    before = api.snapshot(asked, out)
    sleeps = []

    def sleep(seconds):
        assert len(sleeps) < 10, "the change is not seen"
        if not sleeps:
            act()
        sleeps.append(seconds)

    return api.wait_for_change(before, sleep=sleep)


def test_a_change_of_a_task_or_of_the_submission_is_seen(dataset, tmp_path):
    hand_in = tmp_path / "mine"
    hand_in.mkdir()
    asked = api.ScoreAsked(dataset=dataset, submissions=(f"me={hand_in}",))
    gold = dataset / "tasks/count-words/evaluation/expected.json"
    assert changes_after(asked, lambda: os.utime(gold, ns=(1, 1))) == [str(gold)]
    assert changes_after(asked, lambda: (hand_in / "new.txt").write_text("x")) == [str(hand_in / "new.txt")]
    assert changes_after(asked, gold.unlink) == [str(gold)]


def test_other_tasks_jobs_and_caches_are_not_watched(dataset):
    for path in ("tasks/count-words/__pycache__/x.pyc", "runs/1/job.json", "notes.txt"):
        (dataset / path).parent.mkdir(parents=True, exist_ok=True)
        (dataset / path).write_text("x")
    found = api.snapshot(api.ScoreAsked(dataset=dataset, submissions=("solution",)), dataset / "runs")
    names = {path.removeprefix(f"{dataset}/") for path in found.files}
    assert "tasks/count-words/evaluator.py" in names
    assert not names & {"tasks/count-words/__pycache__/x.pyc", "runs/1/job.json", "notes.txt"}


def test_a_hand_in_of_any_depth_is_watched_as_deep_as_anything_is_scored(dataset, tmp_path):
    place = tmp_path / "deep"
    place.mkdir()
    descriptor = os.open(place, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    (place / "a").write_text("x")
    asked = api.ScoreAsked(dataset=dataset, submissions=(str(place),))
    assert str(place / "a") in api.snapshot(asked, dataset / "runs").files
    remove_tree(place)


def second_task(dataset):
    shutil.copytree(dataset / "tasks/count-words", dataset / "tasks/second")
    path = dataset / "tasks/second/task.yaml"
    path.write_text(path.read_text().replace("task_id: count-words", "task_id: second"))


def test_a_new_task_is_seen_unless_the_tasks_were_chosen(dataset):
    new = str(dataset / "tasks/second/task.yaml")
    asked = api.ScoreAsked(dataset=dataset, submissions=("solution",))
    assert changes_after(asked, lambda: second_task(dataset)) == [new]
    chosen = api.snapshot(dataclasses.replace(asked, tasks=("count-*",)), dataset / "runs")
    assert new not in chosen.files


def test_a_file_has_one_name_wherever_the_dataset_is_typed_from(dataset, monkeypatch):
    monkeypatch.chdir(dataset)
    path = dataset / "tasks/count-words/task.yaml"
    asked = api.ScoreAsked(submissions=("solution",))
    assert changes_after(asked, lambda: path.write_text("nonsense: true")) == [str(path)]


def test_what_was_not_watched_before_is_no_change_when_the_dataset_stops_loading(dataset):
    (dataset / "notes.txt").write_text("x")
    path = dataset / "tasks/count-words/task.yaml"
    asked = api.ScoreAsked(dataset=dataset, submissions=("solution",))
    assert changes_after(asked, lambda: path.write_text("nonsense: true")) == [str(path)]


def test_after_a_change_of_one_task_that_task_alone_is_scored_again(dataset):
    second_task(dataset)
    before = api.snapshot(api.ScoreAsked(dataset=dataset, submissions=("solution",), limit=2), Path("runs"))
    assert set(before.tasks) == {"count-words", "second"}
    asked = api.narrowed(before, [str(dataset / "tasks/second/evaluator.py")])
    assert (asked.tasks, asked.limit) == (("second",), None)
    shared = [str(dataset / "tasks/second/evaluator.py"), str(dataset / "shared/answers.py")]
    assert api.narrowed(before, shared) is before.asked


def test_watching_runs_again_after_a_change_and_survives_files_that_do_not_load(dataset, monkeypatch, capsys):
    evaluator = str(dataset / "tasks/count-words/evaluator.py")
    waits = iter([[evaluator], [str(dataset / "dataset.yaml")]])
    runs = []

    def wait(_before):
        try:
            return next(waits)
        except StopIteration:
            raise KeyboardInterrupt from None

    def once(asked):
        runs.append(asked.tasks)
        if len(runs) == 2:
            raise UsageError("The file is half written.")
        return 1

    monkeypatch.setattr(api, "wait_for_change", wait, raising=False)
    assert watching.watch(api.ScoreAsked(dataset=dataset), Path("runs"), once) == 1
    assert runs == [(), ("count-words",), ()]
    said = capsys.readouterr().err
    assert f"changed: {evaluator}; again: count-words\n" in said
    assert f"changed: {dataset / 'dataset.yaml'}\n" in said
    assert "The file is half written." in said


def test_docker_is_told_where_the_engine_is_when_it_is_elsewhere():
    assert (docker(None), docker("tcp://a b:1")) == ("docker", "docker -H 'tcp://a b:1'")


def container(image, labels):
    return ContainerSpec(
        name="scorehost-kept",
        image=image,
        command=("sleep",),
        user=500_000_000,
        labels=labels,
        env={},
        cleared_env=(),
        workdir="/attempt",
        memory=1 << 26,
        cpus=1.0,
        pids=32,
        shm=1 << 20,
    )


def test_only_a_clean_that_is_asked_for_removes_what_was_kept(monkeypatch):
    async def main():
        async with MemoryEngine() as engine:

            @asynccontextmanager
            async def opened(_host):
                yield engine

            engine.images.add(BASE)
            image = await engine.image(BASE)
            labels = host_labels(job=JOB, slot="t/s/1.1", host="evaluator", kept=True)
            await engine.create(container(image.id, labels))
            monkeypatch.setattr("scorehost.files.lease.Lease.standing", dead)
            assert await clean_job(engine, JOB) == []
            swept = await clean(engine=opened)
            assert (swept.removed, "kept for a look" in swept.left[0][1]) == ((), True)
            found = await doctor(engine=opened)
            assert any("kept for a look: " in one.text and "host evaluator" in one.text for one in found)
            asked = await clean(kept=True, engine=opened)
            assert [item.kind for item in asked.removed] == ["container"]
            assert await engine.list_containers({"scorehost.job": None}) == []

    anyio.run(main)


def dead(_lease):
    from scorehost.files.lease import Standing  # noqa: PLC0415 - what the patched method gives

    return Standing.DEAD
