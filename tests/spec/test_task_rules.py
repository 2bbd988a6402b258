"""task.yaml: what does not fit, with place and remedy, all of it at once."""

from __future__ import annotations

import os

import pytest


def artifacts(*rows):
    return "artifacts:\n  publishable:\n" + "".join(f"    - {{{row}}}\n" for row in rows)


def test_three_mistakes_in_two_files_are_told_together(folder):
    folder.write("profiles.yaml", "format: scorehost.profiles/1\nconcurency: 2\n")
    folder.task("weight: heavy\n" + artifacts("id: out, path: ../out.json"))
    remedy = ". Write a path below artifacts/ or workspace/"
    assert folder.problems() == [
        "profiles.yaml:2:1: concurency: unknown key. Did you mean `concurrency`?",
        "tasks/one/task.yaml:3:9: weight: a number is wanted, and this is text (`heavy`). Write a number",
        "tasks/one/task.yaml:6:23: artifacts.publishable[0].path: the path holds `..`" + remedy,
    ]


@pytest.mark.parametrize(
    ("line", "start", "hint"),
    [
        (
            "description: 5",
            "3:14: description: text is wanted, and this is a whole number (`5`)",
            'quote it: "5"',
        ),
        ("description: true", "3:14: description: text is wanted, and this is a boolean", 'quote it: "true"'),
        ("description: 3.10", "3:14: description: text is wanted, and this is a number", 'quote it: "3.10"'),
        ("description:", "3:13: description: text is wanted, and this is empty", "leave the key out"),
        ('weight: "1"', "3:9: weight: a number is wanted, and this is text", "Remove the quotes"),
        ("weight: -1", "3:9: weight: must be at least 0", "Change -1"),
        ("tags: audit", "3:7: tags: a list is wanted, and this is text", ""),
        ("tags: [1]", "3:8: tags[0]: text is wanted", 'quote it: "1"'),
        ("limits: {pids: 1.5}", "3:16: limits.pids: a whole number is wanted", ""),
        ("limits: {pids: 64.0}", "3:16: limits.pids: a whole number is wanted", ""),
        ("limits: {exec_seconds: true}", "3:24: limits.exec_seconds: a number is wanted", "Write a number"),
        ("limits: {exec_seconds: 0}", "3:24: limits.exec_seconds: must be greater than 0", "Change 0"),
        ("limits: {output_bytes: 4194305}", "3:24: limits.output_bytes: must be at most 4194304", ""),
        ("limits: {memory: 5}", "3:10: limits.memory: unknown key", "Did you mean `memory_mb`?"),
        (
            "evaluation: {limits: {cpus: 16}}",
            "3:14: evaluation.limits: unknown key",
            "`limits` stands at the top of the file, without indentation",
        ),
        (
            "environments: {}",
            "3:1: environments: unknown key",
            "`environments` stands below `evaluation`",
        ),
        (
            "evaluation: {network: bridge}",
            "3:23: evaluation.network: a scoring host never has a network",
            "none",
        ),
        ("evaluation: {environments: {a: {docker_image: x, gold: 'no'}}}", "3:56: ", "true or false"),
        ("evaluation: {output: {score_range: [0]}}", "3:36: evaluation.output.score_range", ""),
        (
            "evaluation: {output: {score_range: [0, 1, 2]}}",
            "3:36: evaluation.output.score_range: holds 3",
            "",
        ),
        (
            "evaluation: {output: {score_range: [1, 0]}}",
            "3:36: evaluation.output.score_range: the lower end",
            "",
        ),
        (
            "evaluation: {output: {score_range: [1, 1]}}",
            "3:36: evaluation.output.score_range: the lower end",
            "",
        ),
        (
            "evaluation: {docker_image: 'a b'}",
            "3:28: evaluation.docker_image: this is no name of an image",
            "",
        ),
        ("evaluation: {docker_image: --privileged}", "3:28: evaluation.docker_image: this is no name", ""),
        (
            "evaluation: {metrics: [{id: a}, {id: a}]}",
            "3:38: evaluation.metrics[1].id: two metrics",
            "Rename",
        ),
        (
            "evaluation: {evaluator_environment: a}",
            "3:37: evaluation.evaluator_environment: no environment",
            "",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_place_and_remedy(folder, line, start, hint):
    folder.task(line + "\n")
    problem = folder.problem()
    assert problem.startswith(f"tasks/one/task.yaml:{start}")
    assert hint in problem


def test_whole_numbers_are_taken_where_a_number_is_wanted(folder):
    folder.task("weight: 2\nlimits: {cpus: 2}\nevaluation: {output: {score_range: [-1, 1]}}\n")
    spec = folder.load().tasks["one"].spec
    assert (spec.weight, spec.limits.cpus, spec.evaluation.output.score_range) == (2.0, 2.0, (-1.0, 1.0))


def test_score_range_null_is_open(folder):
    folder.task("evaluation: {output: {score_range: null}}\n")
    assert folder.load().tasks["one"].spec.evaluation.output.score_range is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("task_id: one\n", "tasks/one/task.yaml:1:1: format: is missing"),
        ("format: scorehost.task/2\n", "tasks/one/task.yaml:1:9: format: must be `scorehost.task/1`"),
        ("format: ageval.task/1\n", "tasks/one/task.yaml:1:9: format: must be `scorehost.task/1`"),
        ("format: scorehost.task/1\n", "tasks/one/task.yaml:1:1: task_id: is missing"),
        (
            "format: scorehost.task/1\ntask_id: two\n",
            "tasks/one/task.yaml:2:10: task_id: `two` is not the name",
        ),
        (
            "format: scorehost.task/1\ntask_id: One\n",
            "tasks/one/task.yaml:2:10: task_id: an id is small letters",
        ),
    ],
)
def test_format_and_task_id_must_be_right(folder, text, start):
    folder.write("tasks/one/task.yaml", text)
    assert folder.problem().startswith(start)


def test_a_folder_without_task_yaml_is_an_error(folder):
    (folder.root / "tasks/two").mkdir()
    assert folder.problem().startswith("tasks/two/task.yaml: is not there. Put the file there")


def test_a_task_yaml_that_is_a_link_to_nothing_is_called_that(folder):
    (folder.root / "tasks/two").mkdir()
    (folder.root / "tasks/two/task.yaml").symlink_to("gone")
    assert folder.problem().startswith(
        "tasks/two/task.yaml: is a link that leads to no file. Put the file there"
    )


def test_an_evaluator_that_is_no_file_is_told_once_and_not_as_missing(folder):
    (folder.root / "tasks/one/evaluator.py").unlink()
    os.mkfifo(folder.root / "tasks/one/evaluator.py")
    assert folder.problem().startswith("tasks/one/evaluator.py: must be a file, and is a FIFO")


def test_a_task_without_evaluator_is_an_error(folder):
    (folder.root / "tasks/one/evaluator.py").unlink()
    assert "evaluation.entrypoint: there is no evaluator.py" in folder.problem()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("''", "the path is empty"),
        ("/etc/passwd", "the path is absolute"),
        ("artifacts/../evaluation/x", "holds `..`"),
        ('"artifacts/a\\0b"', "holds a NUL"),
        ("artifacts//x", "an empty step"),
        ("artifacts/./x", "an empty step"),
        ("artifacts/", "an empty step"),
        ("artifacts", "is a folder, and the artifact is a file"),
        (f"artifacts/{'n' * 256}", "more than 255 bytes"),
    ],
)
@pytest.mark.parametrize("where", ["path", "target"])
def test_a_path_that_leaves_its_home_is_a_dataset_error(folder, path, says, where):
    if where == "path":
        folder.task(artifacts(f"id: out, path: {path}"))
    else:
        folder.task(
            artifacts("id: out, path: artifacts/out")
            + f"evaluation:\n  inputs:\n    - {{artifact: out, target: {path}}}\n"
        )
    assert says in folder.problem()


def test_a_target_lies_below_artifacts_or_workspace_and_a_path_may_lie_anywhere_in_a_hand_in(folder):
    target = "evaluation:\n  inputs:\n    - {artifact: out, target: evaluation/x}\n"
    folder.task(artifacts("id: out, path: artifacts/out") + target)
    assert "not below artifacts/ or workspace/" in folder.problem()
    folder.task(artifacts("id: out, path: out/answer.csv"))
    (artifact,) = folder.load().tasks["one"].spec.artifacts
    assert (artifact.path, artifact.place) == ("out/answer.csv", "artifacts/out/answer.csv")
    (row,) = folder.load().tasks["one"].spec.input_rows
    assert row.target == "artifacts/out/answer.csv"


@pytest.mark.parametrize("path", ["samples/x", "submission.yaml"])
def test_a_path_that_means_something_else_in_a_hand_in_is_a_dataset_error(folder, path):
    folder.task(artifacts(f"id: out, path: {path}"))
    assert "in a hand-in" in folder.problem()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("artifacts/a", "artifacts/a"),
        ("artifacts/a", "artifacts/a/b"),
        ("artifacts/a/b", "artifacts/a"),
    ],
)
def test_artifacts_in_one_place_or_in_each_other_are_an_error(folder, first, second):
    folder.task(artifacts(f"id: x, path: {first}, kind: tree", f"id: z, path: {second}, kind: tree"))
    assert folder.problem().startswith("tasks/one/task.yaml:6:21: artifacts.publishable[1].path:")


def test_artifacts_whose_names_begin_alike_are_apart(folder):
    folder.task(artifacts("id: x, path: artifacts/a", "id: z, path: artifacts/ab"))
    assert len(folder.load().tasks["one"].spec.artifacts) == 2


def test_two_inputs_with_one_target_are_an_error(folder):
    folder.task(
        artifacts("id: x, path: artifacts/a", "id: z, path: artifacts/b")
        + "evaluation:\n  inputs:\n"
        + "".join(f"    - {{artifact: {name}, target: artifacts/t}}\n" for name in "xz")
    )
    assert "evaluation.inputs[1].target: `artifacts/t` is taken by another artifact" in folder.problem()


def test_an_input_of_an_artifact_that_is_not_declared_is_an_error(folder):
    folder.task(
        artifacts("id: x, path: artifacts/a")
        + "evaluation:\n  inputs:\n    - {artifact: q, target: artifacts/t}\n"
    )
    assert "evaluation.inputs[0].artifact: no artifact is called `q`. There are `x`" in folder.problem()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["id: x, path: artifacts/a", "id: x, path: artifacts/b"], "two artifacts are called `x`"),
        (["id: task_id, path: artifacts/a"], "a column of --predictions files"),
        (["id: 'a b', path: artifacts/a"], "an id is letters"),
        (["id: x, path: artifacts/a, exclude: ['*.o']"], "is for trees only"),
        (["id: x, path: artifacts/a, max_bytes: -1"], "must be at least 0"),
        (["id: x, path: artifacts/a, kind: link"], "must be `file` or `tree`"),
        (["path: artifacts/a"], "artifacts.publishable[0].id: is missing"),
    ],
)
def test_rows_of_artifacts_must_be_sound(folder, rows, says):
    folder.task(artifacts(*rows))
    assert says in folder.problem()


def test_a_row_that_fits_no_artifact_does_not_hide_or_renumber_the_others(folder):
    folder.task(artifacts("path: artifacts/a", "id: z, path: /b"))
    missing, absolute = folder.problems()
    assert missing.startswith("tasks/one/task.yaml:5:7: artifacts.publishable[0].id: is missing")
    assert absolute.startswith(
        "tasks/one/task.yaml:6:21: artifacts.publishable[1].path: the path is absolute"
    )


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("evaluation: {runtime: command}", "3:14: evaluation.runtime: not yet"),
        ("evaluation: {environments: {a: {docker_image: x, platform: p}}}", "3:50: "),
        ("evaluation: {environments: {a: {docker_image: x, gpus: 1}}}", "3:50: "),
        ("evaluation: {environments: {a: {docker_image: x, exclusive: true}}}", "3:50: "),
    ],
)
def test_keys_without_behaviour_yet_are_refused_with_not_yet(folder, line, start):
    folder.task(line + "\n")
    problem = folder.problem()
    assert problem.startswith(f"tasks/one/task.yaml:{start}")
    assert "not yet: " in problem


def test_a_task_with_run_py_is_scorable_by_a_submission(folder):
    script = folder.write("tasks/one/run.py", "async def run(ctx): ...\n")
    assert folder.load().tasks["one"].run_script == script


def test_a_minimised_score_needs_a_range_since_a_crash_has_to_count_as_something(folder):
    folder.task("evaluation: {output: {direction: minimize, score_range: null}}\n")
    problem = folder.problem()
    assert "a score that is minimised needs a range" in problem
    assert problem.endswith("Write `score_range: [0, WORST]` beside it")
    folder.task("evaluation: {output: {direction: minimize, score_range: [0, 5], verdict: none}}\n")
    output = folder.load().tasks["one"].spec.evaluation.output
    assert (output.direction, output.verdict) == ("minimize", "none")
