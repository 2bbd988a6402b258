"""What a change of dataset.yaml is called: by its name, not by that of a task.yaml that nobody touched."""

from __future__ import annotations

import anyio
import pytest
from archived import Archiving
from scripted_jobs import Script, run

from scorehost import api
from scorehost.errors import UsageError
from scorehost.runs.journal import FILE
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.rescore.asking import asked_again
from scorehost.spec.loading import load_dataset


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    api.init(folder)
    return folder


def with_default(data):
    """Another limit for every task that sets none."""
    with (data / "dataset.yaml").open("a") as stream:
        stream.write("defaults: {limits: {pids: 99}}\n")
    return load_dataset(data)


def with_task(data):
    path = data / "tasks/count-words/task.yaml"
    path.write_text(path.read_text().replace("memory_mb: 256", "memory_mb: 300"))
    return load_dataset(data)


@pytest.mark.parametrize(
    ("change", "told"),
    [(with_default, r"count-words: dataset\.yaml\n"), (with_task, r"count-words: task\.yaml or --set\n")],
)
def test_a_resume_is_refused_with_the_file_that_changed(tmp_path, data, change, told):
    stop = anyio.Event()
    stop.set()
    run(tmp_path, load_dataset(data), Script(), submissions=("solution",), stop=stop)
    with pytest.raises(UsageError, match=told):
        run(tmp_path, change(data), resume="latest")


@pytest.mark.parametrize("change", [with_default, with_task])
def test_a_change_of_limits_is_told_as_that_by_a_rescore(tmp_path, data, change):
    parent = run(tmp_path, load_dataset(data), Archiving(), submissions=("solution",))
    change(data)
    chosen = asked_again(parent.job_id, ScoreAsked(changed=True), tmp_path / "runs")
    asked = {"parent": chosen.asked.parent, "changed": True, "tasks": chosen.asked.tasks}
    again = run(tmp_path, chosen.dataset, Archiving(), **asked)
    assert "1 since limits changed" in (again.folder / FILE).read_text()


def with_metric(data):
    with (data / "dataset.yaml").open("a") as stream:
        stream.write("defaults: {evaluation: {metrics: [{id: words}]}}\n")
    return load_dataset(data)


def test_a_default_of_the_evaluation_is_told_of_dataset_yaml_by_rescore_and_compare(tmp_path, data):
    parent = run(tmp_path, load_dataset(data), Archiving(), submissions=("solution",))
    with_metric(data)
    chosen = asked_again(parent.job_id, ScoreAsked(changed=True), tmp_path / "runs")
    asked = {"parent": chosen.asked.parent, "changed": True, "tasks": chosen.asked.tasks}
    again = run(tmp_path, chosen.dataset, Archiving(), **asked)
    assert "1 since dataset.yaml changed" in (again.folder / FILE).read_text()
    found = api.compare(parent.job_id, again.job_id, out=tmp_path / "runs")
    assert [one.text for one in found.differences if one.kind == "scoring"] == ["dataset.yaml differs"]
