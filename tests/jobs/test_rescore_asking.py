"""What a rescore asks: the parent's tasks, parameters and repeats, by the dataset as it is now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from archived import Archiving
from scripted_jobs import run

from scorehost import api
from scorehost.errors import UsageError
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.rescore.asking import asked_again
from scorehost.spec.loading import load_dataset, load_task_dir


@pytest.fixture
def data(tmp_path):
    """A dataset on disk with the tasks `one` and `two`."""
    folder = tmp_path / "data"
    api.init(folder)
    (task,) = (folder / "tasks").iterdir()
    text = (task / "task.yaml").read_text()
    for name in ("one", "two"):
        shutil.copytree(task, folder / "tasks" / name)
        (folder / "tasks" / name / "task.yaml").write_text(text.replace(task.name, name))
    shutil.rmtree(task)
    return folder


@pytest.fixture
def parent(tmp_path, data):
    dataset = load_dataset(data)
    return run(
        tmp_path, dataset, Archiving(), submissions=("empty",), parameters={"depth": 3}, repeat=2, name="old"
    )


def ask(tmp_path, parent, **given):
    return asked_again(parent.job_id, ScoreAsked(**given), tmp_path / "runs")


def test_tasks_parameters_and_repeats_are_the_parents_and_the_rest_is_what_was_given(tmp_path, parent, data):
    chosen = ask(tmp_path, parent, name="new", changed=True)
    asked, dataset = chosen.asked, chosen.dataset
    assert asked.parent == parent.folder
    assert (asked.tasks, dict(asked.parameters), asked.repeat) == (("one", "two"), {"depth": 3}, 2)
    assert (asked.name, asked.changed) == ("new", True)
    assert (dataset.root.resolve(), asked.dataset.resolve()) == (data.resolve(), data.resolve())


def test_tasks_can_be_narrowed_but_only_to_those_that_were_scored(tmp_path, parent):
    assert ask(tmp_path, parent, tasks=("t*",)).asked.tasks == ("two",)
    with pytest.raises(UsageError, match="No task of the job matches --task three"):
        ask(tmp_path, parent, tasks=("three",))


def test_a_task_that_is_gone_is_told_and_left_out(tmp_path, parent, data):
    shutil.rmtree(data / "tasks/two")
    chosen = ask(tmp_path, parent)
    assert chosen.asked.tasks == ("one",)
    assert "not scored again, since the dataset no longer has them: two" in chosen.dataset.warnings


def test_another_dataset_can_take_the_place_of_the_old_one(tmp_path, parent, data):
    shutil.move(data, tmp_path / "moved")
    with pytest.raises(UsageError, match="is not there") as raised:
        ask(tmp_path, parent)
    assert raised.value.hint == "Name it with --dataset DIR."
    asked = ask(tmp_path, parent, dataset=tmp_path / "moved").asked
    assert asked.dataset == tmp_path / "moved"


def test_a_dataset_without_any_of_the_tasks_is_refused(tmp_path, parent):
    other = tmp_path / "other"
    api.init(other)
    with pytest.raises(UsageError, match="has none of the tasks"):
        ask(tmp_path, parent, dataset=other)


def test_a_lone_task_is_read_as_it_was(tmp_path, data):
    lone = Path(shutil.copytree(data / "tasks/one", tmp_path / "one"))
    shutil.rmtree(data)
    parent = run(tmp_path, load_task_dir(lone), Archiving(), submissions=("empty",))
    chosen = ask(tmp_path, parent)
    assert (chosen.asked.tasks, list(chosen.dataset.tasks)) == (("one",), ["one"])
