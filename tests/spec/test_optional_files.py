"""Files that a dataset may leave out: absent is only what has no entry at all."""

from __future__ import annotations

import os
import socket

import pytest

FILES = (
    "tasks/one/environment/evaluate.Dockerfile",
    "tasks/one/environment/Dockerfile",
    "tasks/one/run.py",
    "tasks/one/solution-wrong/lazy/expect.yaml",
    "tasks/one/evaluator.py",
    "profiles.yaml",
)
FOLDERS = (
    "tasks/one/environment",
    "tasks/one/solution",
    "tasks/one/solution-wrong",
    "tasks/one/solution-wrong/lazy",
    "tasks/one/evaluation",
    "tasks/one/lib",
    "shared",
    "evaluation",
)


def dangling(path):
    path.symlink_to("gone")


def loop(path):
    path.symlink_to(path.name)


def unix_socket(path):
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def folder_there(path):
    path.mkdir()


def linked_folder(path):
    path.with_name("elsewhere").mkdir()
    path.symlink_to("elsewhere")


def linked_outside(path):
    path.symlink_to("/etc/passwd")


def put(folder, path, make):
    target = folder.root / path
    if target.exists():
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    make(target)


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("make", [dangling, loop, os.mkfifo, unix_socket, folder_there, linked_folder])
def test_what_stands_in_the_place_of_an_optional_file_and_is_none_is_a_problem(folder, path, make):
    put(folder, path, make)
    assert any(problem.startswith(f"{path}: ") for problem in folder.problems())


@pytest.mark.parametrize("path", [path for path in FILES if path != "profiles.yaml" and "expect" not in path])
def test_an_optional_file_of_a_task_is_no_link_out_of_it(folder, path):
    put(folder, path, linked_outside)
    assert any(problem.startswith(f"{path}: ") for problem in folder.problems())


@pytest.mark.parametrize("path", FOLDERS)
@pytest.mark.parametrize("make", [dangling, loop, os.mkfifo, linked_folder])
def test_what_stands_in_the_place_of_an_optional_folder_and_is_none_is_a_problem(folder, path, make):
    put(folder, path, make)
    assert any(problem.startswith(f"{path}: ") for problem in folder.problems())


def test_profiles_may_be_a_link_to_a_file_that_several_datasets_share(folder, tmp_path):
    shared = tmp_path / "profiles.yaml"
    shared.write_text("format: scorehost.profiles/1\nevaluate_host: {docker_image: other:1}\n")
    put(folder, "profiles.yaml", lambda path: path.symlink_to(shared))
    assert folder.load().profiles.evaluate_host.docker_image == "other:1"


def test_a_link_among_the_tasks_that_leads_to_no_folder_is_no_task_left_out_silently(folder):
    (folder.root / "tasks" / "two").symlink_to("gone")
    assert folder.problem().startswith("tasks/two: is a link that leads to no folder")


def test_what_is_not_there_at_all_is_absent(folder):
    (folder.root / "profiles.yaml").unlink()
    task = folder.load().tasks["one"]
    assert (task.evaluate_dockerfile, task.run_dockerfile, task.run_script) == (None, None, None)
    assert (task.solution, task.wrong) == (None, {})
