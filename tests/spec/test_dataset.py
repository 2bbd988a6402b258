"""What a dataset on disk becomes: defaults, code, gold, solutions, environments."""

from __future__ import annotations

import os

import pytest

from scorehost.errors import SpecError
from scorehost.spec.environments import single_environment
from scorehost.spec.loading import load_dataset, load_task_dir
from scorehost.spec.submission import read_submission_card


def test_what_the_files_do_not_say_is_what_the_formats_page_says(folder):
    task = folder.load().tasks["one"]
    limits = task.spec.limits
    assert (limits.evaluate_seconds, limits.exec_seconds, limits.start_seconds) == (600, 120, 60)
    assert (limits.memory_mb, limits.cpus, limits.pids) == (2048, 1.0, 256)
    assert (limits.output_bytes, limits.output_total_bytes) == (1_048_576, 2_147_483_648)
    assert task.spec.artifacts[0].max_bytes == 67_108_864
    assert task.spec.evaluation.output.score_range == (0.0, 1.0)
    assert [(row.artifact, row.target) for row in task.spec.input_rows] == [("out", "artifacts/out.json")]


def test_defaults_lie_under_each_task_key_by_key(folder):
    folder.write(
        "dataset.yaml",
        'format: scorehost.dataset/1\ndataset_id: small\nversion: "1"\n'
        "defaults:\n  limits: {memory_mb: 512, pids: 64}\n  evaluation: {output: {score_range: [0, 10]}}\n",
    )
    folder.task("limits: {memory_mb: 1024}\n")
    spec = folder.load().tasks["one"].spec
    assert (spec.limits.memory_mb, spec.limits.pids, spec.limits.cpus) == (1024, 64, 1.0)
    assert spec.evaluation.output.score_range == (0.0, 10.0)


def test_a_misfit_in_the_defaults_is_told_once_and_at_its_own_place(folder):
    folder.write(
        "dataset.yaml",
        'format: scorehost.dataset/1\ndataset_id: small\nversion: "1"\ndefaults:\n  limits: {pids: many}\n',
    )
    folder.write("tasks/two/task.yaml", "format: scorehost.task/1\ntask_id: two\n")
    folder.write("tasks/two/evaluator.py", "")
    assert folder.problem().startswith("dataset.yaml:5:18: defaults.limits.pids: a whole number is wanted")


def test_shared_code_lib_and_evaluator_land_below_the_task_folder_of_a_host(folder):
    folder.write("shared/exact.py", "")
    folder.write("shared/__pycache__/exact.cpython-311.pyc", "")
    folder.write("tasks/one/lib/deep/rules.py", "")
    folder.write("tasks/one/evaluator.py", b"\xef\xbb\xbfdef evaluate(inputs):\r\n    return {}\r\n")
    assert list(folder.load().tasks["one"].code) == ["evaluator.py", "lib/deep/rules.py", "shared/exact.py"]


def test_an_entrypoint_may_be_a_module_of_shared(folder):
    folder.write("shared/exact.py", "")
    (folder.root / "tasks/one/evaluator.py").unlink()
    folder.task("evaluation: {entrypoint: 'shared.exact:evaluate'}\n")
    assert "shared/exact.py" in folder.load().tasks["one"].code


@pytest.mark.parametrize(
    "entrypoint", ["shared.missing:evaluate", "evaluator", "evaluator:", "../x:evaluate"]
)
def test_an_entrypoint_that_leads_nowhere_is_an_error(folder, entrypoint):
    folder.task(f"evaluation:\n  entrypoint: '{entrypoint}'\n")
    assert folder.problem().startswith("tasks/one/task.yaml:4:15: evaluation.entrypoint:")


def test_shared_gold_lies_under_each_tasks_own(folder):
    folder.write("evaluation/units.json", "{}")
    folder.write("tasks/one/evaluation/truth.json", "{}")
    gold = folder.load().tasks["one"].gold
    assert list(gold) == ["truth.json", "units.json"]
    assert gold["units.json"] == folder.root / "evaluation/units.json"


def test_one_path_in_shared_and_own_gold_is_an_error(folder):
    folder.write("evaluation/truth.json", "{}")
    folder.write("tasks/one/evaluation/truth.json", "{}")
    assert folder.problem().startswith("tasks/one/evaluation/truth.json: the same path stands in evaluation")


def test_private_gold_replaces_what_has_its_path_and_adds_the_rest(folder, tmp_path):
    folder.write("tasks/one/evaluation/truth.json", "public")
    folder.write("tasks/one/evaluation/kept.json", "public")
    private = tmp_path / "private"
    (private / "one").mkdir(parents=True)
    (private / "one/truth.json").write_text("private")
    (private / "one/more.json").write_text("private")
    gold = folder.load(gold=private).tasks["one"].gold
    assert {path: file.read_text() for path, file in gold.items()} == {
        "kept.json": "public",
        "more.json": "private",
        "truth.json": "private",
    }


def test_private_gold_that_names_no_task_is_an_error(folder, tmp_path):
    (tmp_path / "private/onne").mkdir(parents=True)
    assert "private gold for a task that the dataset does not have" in folder.problem(
        gold=tmp_path / "private"
    )


def test_a_folder_of_private_gold_that_is_not_there_is_an_error(folder, tmp_path):
    assert "there is no such folder of gold" in folder.problem(gold=tmp_path / "nowhere")


@pytest.mark.parametrize("tree", ["evaluation", "lib"])
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("/etc/passwd", "a link that leaves the task"),
        ("../../../dataset.yaml", "a link that leaves the task"),
        ("nowhere", "a link that leads to no file"),
        ("..", "a link to a folder"),
        ("../solution/artifacts/out.json", "a link into a solution"),
    ],
)
def test_a_link_out_of_the_task_is_refused(folder, tree, target, says):
    folder.write("tasks/one/solution/artifacts/out.json", "{}")
    (folder.root / "tasks/one" / tree).mkdir()
    (folder.root / "tasks/one" / tree / "link").symlink_to(target)
    problem = folder.problem()
    assert problem.startswith(f"tasks/one/{tree}/link: ")
    assert says in problem


def test_a_gold_folder_that_is_itself_a_link_is_refused(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder.root / "tasks/one/evaluation").symlink_to(tmp_path / "elsewhere")
    assert folder.problem().startswith("tasks/one/evaluation: must be a folder")


def test_a_link_within_the_task_stands_for_its_file(folder):
    file = folder.write("tasks/one/evaluation/truth.json", "{}")
    (folder.root / "tasks/one/evaluation/same.json").symlink_to("truth.json")
    assert folder.load().tasks["one"].gold["same.json"] == file


def test_a_fifo_in_gold_is_refused_without_waiting(folder):
    (folder.root / "tasks/one/evaluation").mkdir()
    os.mkfifo(folder.root / "tasks/one/evaluation/pipe")
    assert folder.problem().startswith("tasks/one/evaluation/pipe: is neither a file nor a folder")


def test_a_fifo_for_task_yaml_is_refused_without_waiting(folder):
    (folder.root / "tasks/one/task.yaml").unlink()
    os.mkfifo(folder.root / "tasks/one/task.yaml")
    assert folder.problem().startswith("tasks/one/task.yaml: is not a file")


def test_gold_names_of_any_bytes_are_carried(folder):
    (folder.root / "tasks/one/evaluation").mkdir()
    name = os.fsdecode(b"caf\xe9 \n\xf0\x9f\x98\x80")
    (folder.root / "tasks/one/evaluation" / name).write_text("x")
    assert list(folder.load().tasks["one"].gold) == [name]


def test_solutions_and_what_is_expected_of_wrong_ones_are_found(folder):
    folder.write("tasks/one/solution/artifacts/out.json", "{}")
    folder.write("tasks/one/solution-wrong/rounding/artifacts/out.json", "{}")
    folder.write(
        "tasks/one/solution-wrong/rounding/expect.yaml", "status: FAIL\ncheck: values\nmax_score: 0.5\n"
    )
    folder.write("tasks/one/solution-wrong/empty/artifacts/out.json", "")
    task = folder.load().tasks["one"]
    assert task.solution == folder.root / "tasks/one/solution"
    assert list(task.wrong) == ["empty", "rounding"]
    expected = task.expected["rounding"]
    assert (expected.status, expected.check, expected.max_score) == ("FAIL", "values", 0.5)


def test_an_expectation_of_pass_for_a_wrong_solution_is_an_error(folder):
    folder.write("tasks/one/solution-wrong/bad/expect.yaml", "status: PASS\n")
    problem = folder.problem()
    assert problem.startswith(
        "tasks/one/solution-wrong/bad/expect.yaml:1:9: status: must be `FAIL` or `ERROR`"
    )


def test_set_lays_parameters_over_the_tasks_own(folder):
    folder.task("parameters: {kept: 1, set: [1, 2]}\n")
    spec = folder.load(parameters={"set": {"a": None}, "new": "x"}).tasks["one"].spec
    assert spec.parameters == {"kept": 1, "set": {"a": None}, "new": "x"}


def test_only_the_tasks_that_are_asked_for_are_read(folder):
    folder.write("tasks/broken/task.yaml", "format: [\n")
    assert list(folder.load(only=["one"]).tasks) == ["one"]
    assert folder.problem(only=["onne"]) == "tasks: there is no task `onne`. Did you mean `one`?"


def test_a_task_folder_alone_is_a_dataset_of_one_with_default_profiles(folder, tmp_path):
    (folder.root / "tasks/one").rename(tmp_path / "one")
    dataset = load_task_dir(tmp_path / "one")
    assert list(dataset.tasks) == ["one"]
    assert dataset.profiles.evaluate_host.docker_image == "scorehost/python:3"


def test_a_task_folder_in_a_dataset_has_the_datasets_defaults_and_shared_trees(folder):
    folder.write("shared/exact.py", "")
    folder.write("evaluation/units.json", "{}")
    folder.write("tasks/broken/task.yaml", "format: [\n")
    folder.write("profiles.yaml", "format: scorehost.profiles/1\nconcurrency: 3\n")
    dataset = load_task_dir(folder.root / "tasks/one")
    assert dataset.profiles.concurrency == 3
    assert list(dataset.tasks) == ["one"]
    assert "shared/exact.py" in dataset.tasks["one"].code
    assert "units.json" in dataset.tasks["one"].gold


def test_a_task_without_a_map_is_scored_in_its_recipe_else_its_image_else_the_profiles(folder):
    def single():
        dataset = folder.load()
        return single_environment(dataset.tasks["one"], dataset.profiles)

    assert single() == ("scorehost/python:3", None)
    folder.task("evaluation: {docker_image: 'python:3.12-slim'}\n")
    assert single() == ("python:3.12-slim", None)
    recipe = folder.write("tasks/one/environment/evaluate.Dockerfile", "FROM python:3.12-slim\n")
    assert single() == (None, recipe)


def test_a_folder_that_is_no_dataset_says_what_to_do(folder, tmp_path):
    with pytest.raises(SpecError, match=r"there is no dataset\.yaml here.*no such folder"):
        load_dataset(tmp_path / "nowhere")
    with pytest.raises(SpecError, match=r"This is a task: `scorehost score"):
        load_dataset(folder.root / "tasks/one")


@pytest.mark.parametrize("root", ["../elsewhere", "/tmp", "a//b"])
def test_tasks_root_stays_in_the_dataset(folder, root):
    folder.write(
        "dataset.yaml",
        f'format: scorehost.dataset/1\ndataset_id: small\nversion: "1"\ntasks: {{root: {root}}}\n',
    )
    assert folder.problem().startswith("dataset.yaml:4:15: tasks.root: the path ")


def test_a_submission_card_is_read_and_its_date_is_text(tmp_path):
    card = tmp_path / "submission.yaml"
    card.write_text('name: first-try\nteam: blue\ndate: "2024-01-31"\nmetadata: {seed: 3}\n')
    found = read_submission_card(card)
    assert (found.name, found.team, found.date, found.metadata) == (
        "first-try",
        "blue",
        "2024-01-31",
        {"seed": 3},
    )
    card.write_text("name: a/b\n")
    with pytest.raises(SpecError, match=r"submission\.yaml:1:7: name: "):
        read_submission_card(card)
