"""Which tasks a job is about, and what is refused before anything is written."""

from __future__ import annotations

import math

import pytest
from scripted_jobs import make_dataset, make_task, planned, some_tasks

from scorehost.errors import UsageError
from scorehost.jobs.checks import check_running
from scorehost.jobs.running import Running
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.planning import check_asked
from scorehost.scoring.selection import selected_tasks


def ids(dataset, **options):
    return [task.task_id for task in selected_tasks(ScoreAsked(**options), dataset)]


def test_globs_add_up_and_tags_and_limit_narrow(tmp_path):
    dataset = make_dataset(
        tmp_path,
        make_task(tmp_path, "audit-1", tags=("x",)),
        make_task(tmp_path, "audit-2"),
        make_task(tmp_path, "sum-1", tags=("x", "y")),
    )
    assert ids(dataset) == ["audit-1", "audit-2", "sum-1"]
    assert ids(dataset, tasks=("audit-*",)) == ["audit-1", "audit-2"]
    assert ids(dataset, tasks=("audit-1", "sum-?")) == ["audit-1", "sum-1"]
    assert ids(dataset, tags=("x",)) == ["audit-1", "sum-1"]
    assert ids(dataset, tasks=("sum*",), tags=("x", "y")) == ["sum-1"]
    assert ids(dataset, limit=2) == ["audit-1", "audit-2"]


def test_a_glob_or_tag_that_matches_nothing_names_the_near_ones(tmp_path):
    dataset = some_tasks(tmp_path, "session-audit", "totals", tags=("slow",))
    with pytest.raises(UsageError, match="Did you mean session-audit"):
        ids(dataset, tasks=("totals", "sesion-audit"))
    with pytest.raises(UsageError, match="Did you mean slow"):
        ids(dataset, tags=("slo",))


def test_a_dataset_without_tasks_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="has no tasks"):
        ids(make_dataset(tmp_path))


def test_set_lays_parameters_over_the_tasks_own(tmp_path):
    task = make_task(tmp_path, "a")
    spec = task.spec.model_copy(update={"parameters": {"x": 1, "y": 1}})
    dataset = make_dataset(tmp_path, task.model_copy(update={"spec": spec}))
    (chosen,) = selected_tasks(ScoreAsked(parameters={"y": 2, "z": 3}), dataset)
    assert chosen.spec.parameters == {"x": 1, "y": 2, "z": 3}
    assert dataset.tasks["a"].spec.parameters == {"x": 1, "y": 1}


def test_a_parameter_that_no_selected_task_declares_is_a_warning_that_names_the_near_ones(tmp_path):
    task = make_task(tmp_path, "a")
    spec = task.spec.model_copy(update={"parameters": {"tolerance": 1}})
    dataset = make_dataset(tmp_path, task.model_copy(update={"spec": spec}), make_task(tmp_path, "b"))

    def warned(*tasks, **parameters):
        options = {"tasks": tasks, "submissions": ("solution",), "parameters": parameters}
        return planned(dataset, tmp_path / "incoming", **options)[1]

    assert warned(tolerance=2) == []
    said = "--set tolerence: no selected task declares this parameter."
    assert warned(tolerence=2) == [f"{said} Did you mean tolerance?"]
    assert warned("b", tolerence=2) == [f"{said} None exist."]


@pytest.mark.parametrize(
    ("check", "given"),
    [
        (check_asked, ScoreAsked(repeat=0)),
        (check_asked, ScoreAsked(limit=0)),
        (check_running, Running(concurrency=0)),
        (check_running, Running(retry_errors=-1)),
        (check_running, Running(fail_under=math.nan)),
        (check_asked, ScoreAsked(samples=0)),
        (check_running, Running(rerun="error")),
    ],
)
def test_numbers_that_make_no_sense_are_refused(check, given):
    with pytest.raises(UsageError):
        check(given)
