"""What a task may say of the evaluator's own host, and what of it is said to have no effect."""

from __future__ import annotations

import pytest

MAP = "environments: {box: {docker_image: a:1}}"


def test_what_a_map_of_environments_leaves_without_effect_is_said(folder):
    folder.task(f"evaluation: {{docker_image: other:1, {MAP}}}\n")
    folder.write("tasks/one/environment/evaluate.Dockerfile", "FROM a:1\n")
    first, second = folder.load().warnings
    assert first.startswith("one: evaluation.docker_image is not used")
    assert second.startswith("one: environment/evaluate.Dockerfile is not used")
    for text in (first, second):
        assert "the evaluator runs in the image of profiles.yaml" in text
        assert "`evaluator_environment: NAME`" in text


def test_the_environment_that_the_evaluator_runs_in_instead_is_named(folder):
    folder.task(f"evaluation: {{docker_image: other:1, evaluator_environment: box, {MAP}}}\n")
    (warning,) = folder.load().warnings
    assert "the evaluator runs in `box`" in warning


def test_without_a_map_they_are_used_and_nothing_is_said(folder):
    folder.task("evaluation: {docker_image: other:1}\n")
    assert folder.load().warnings == ()


def test_an_image_beside_the_recipe_that_is_taken_instead_is_said(folder):
    folder.task("evaluation: {docker_image: other:1}\n")
    folder.write("tasks/one/environment/evaluate.Dockerfile", "FROM a:1\n")
    (warning,) = folder.load().warnings
    assert warning.startswith("one: evaluation.docker_image is not used, since environment/evaluate.Docker")


def test_a_recipe_of_a_run_phase_that_there_is_not_is_said(folder):
    folder.write("tasks/one/environment/Dockerfile", "FROM a:1\n")
    (warning,) = folder.load().warnings
    assert "there is no run.py" in warning
    assert "environment/evaluate.Dockerfile" in warning


def test_an_ignore_file_of_a_build_context_is_said_to_have_no_effect(folder):
    folder.write("tasks/one/environment/evaluate.Dockerfile", "FROM a:1\n")
    folder.write("tasks/one/environment/.dockerignore", "secret\n")
    (warning,) = folder.load().warnings
    assert warning.startswith("one: environment/.dockerignore is not read")


def test_the_evaluators_own_host_takes_variables_and_executables_in_scratch(folder):
    folder.task("evaluation: {env: {LD_LIBRARY_PATH: /opt/lib, PYTHONPATH: /opt/py}, tmpfs_exec: true}\n")
    evaluation = folder.load().tasks["one"].spec.evaluation
    assert evaluation.env == {"LD_LIBRARY_PATH": "/opt/lib", "PYTHONPATH": "/opt/py"}
    assert evaluation.tmpfs_exec


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HOME", "folder that no exec can write"),
        ("PYTHONUSERBASE", "folder that no exec can write"),
        ("PYTHONNOUSERSITE", "folder that no exec can write"),
        ("LD_PRELOAD", "the process that speaks for the evaluator"),
        ("LD_AUDIT", "the process that speaks for the evaluator"),
        ("PYTHONHOME", "the process that speaks for the evaluator"),
        ("PYTHONINSPECT", "the process that speaks for the evaluator"),
        ("PYTHONHASHSEED", "the same each time"),
        ("1X", "no name of a variable"),
    ],
)
def test_variables_that_the_evaluators_own_host_keeps_are_refused_with_the_reason(folder, name, words):
    folder.task(f"evaluation: {{env: {{{name}: x}}}}\n")
    problem = folder.problem()
    assert problem.startswith("tasks/one/task.yaml:3:20: ")
    assert words in problem


@pytest.mark.parametrize(("value", "fits"), [(63, False), (64, True), (1_048_576, True), (1_048_577, False)])
@pytest.mark.parametrize("host", [False, True])
def test_open_files_are_a_limit_of_a_task_and_of_a_host(folder, value, fits, host):
    line = f"limits: {{open_files: {value}}}"
    at_host = f"evaluation: {{environments: {{box: {{docker_image: a, {line}}}}}}}"
    folder.task(f"{at_host if host else line}\n")
    assert fits or "open_files" in folder.problem()
    assert not fits or folder.load()
