"""A file that stands for another (a pointer, a placeholder, an error page) is told by name."""

from __future__ import annotations

import pytest

from given import given
from scorehost.api import check, plan
from scorehost.errors import SpecError
from scorehost.files.placeholders import placeholder
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import take_in
from scorehost.submissions.sample import Sample

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
ANNEX = b"/annex/objects/SHA256E-s12345--4d7a.csv\n"
HTML = b"\n<!DOCTYPE html><html><head><title>404 Not Found</title>"

CASES = [
    ("a.csv", LFS, "is a pointer of Git LFS, not the file itself; run `git lfs pull`"),
    ("a", LFS, "is a pointer of Git LFS, not the file itself; run `git lfs pull`"),
    ("a.csv", ANNEX, "is a pointer of git-annex, not the file itself; run `git annex get`"),
    ("d/.data.csv.icloud", b"bplist00", "is a placeholder of iCloud; download data.csv first"),
    ("a.csv", HTML, "holds an HTML page, such as a server answers instead of a file; download it again"),
    ("a.ZIP", HTML, "holds an HTML page, such as a server answers instead of a file; download it again"),
    ("a.html", HTML, ""),
    ("a.txt", HTML, ""),
    ("a.csv", LFS + b"x" * 2000, ""),
    ("a.csv", b"id,value\n", ""),
    ("a.csv", b"", ""),
    (".gitignore", b"*.icloud", ""),
]


@pytest.mark.parametrize(("name", "content", "said"), CASES)
def test_what_a_file_stands_for(name, content, said):
    assert placeholder(name, content[:1024], len(content)) == said


def test_an_artifact_that_is_a_pointer_is_a_warning_of_the_result(tmp_path):
    place = tmp_path / "s/artifacts/t"
    place.mkdir(parents=True)
    for number in range(5):
        (place / f"{number}.csv").write_bytes(LFS)
    (tmp_path / "s/artifacts/a.csv").write_bytes(ANNEX)
    artifacts = (Artifact(id="a", path="artifacts/a.csv"), Artifact(id="t", path="artifacts/t", kind="tree"))
    taken = take_in(TaskSpec(task_id="t", artifacts=artifacts), Sample(tmp_path / "s"), Blobs(tmp_path / "b"))
    pointer = "is a pointer of Git LFS, not the file itself; run `git lfs pull`"
    assert taken.warnings == (
        "artifacts/a.csv is a pointer of git-annex, not the file itself; run `git annex get`",
        f"artifacts/t/0.csv {pointer}",
        f"artifacts/t/1.csv {pointer}",
        f"artifacts/t/2.csv {pointer}",
        "2 more files in artifacts/t are like that",
    )
    assert len(taken.artifacts["t"].entries) == 5


def test_a_placeholder_beside_a_missing_artifact_is_told(tmp_path):
    (tmp_path / "s/artifacts").mkdir(parents=True)
    (tmp_path / "s/artifacts/.a.csv.icloud").write_bytes(b"bplist00")
    spec = TaskSpec(task_id="t", artifacts=(Artifact(id="a", path="artifacts/a.csv"),))
    (said,) = take_in(spec, Sample(tmp_path / "s"), Blobs(tmp_path / "b")).warnings
    assert said.startswith(
        "artifacts/a.csv was not handed in; artifacts/.a.csv.icloud is a placeholder of iCloud"
    )


@pytest.fixture
def dataset(tmp_path):
    root = tmp_path / "d"
    for task_id in ("a", "b"):
        task = root / "tasks" / task_id
        (task / "evaluation").mkdir(parents=True)
        (task / "solution" / "artifacts").mkdir(parents=True)
        (task / "task.yaml").write_text(
            f"format: scorehost.task/1\ntask_id: {task_id}\nartifacts:\n  publishable:\n"
            "    - {id: answer, path: artifacts/answer.txt}\n"
        )
        (task / "evaluator.py").write_text("def evaluate(inputs):\n    return {'status': 'PASS'}\n")
        (task / "solution" / "artifacts" / "answer.txt").write_text("x")
        (task / "evaluation" / "gold.csv").write_text("id\n")
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: d\nversion: '1'\n")
    (root / "profiles.yaml").write_text("format: scorehost.profiles/1\nenvironment: docker\n")
    return root


def test_check_names_gold_and_solutions_that_stand_for_others_and_empty_gold(dataset):
    assert check(dataset).warnings == ()
    (dataset / "tasks/a/evaluation/gold.csv").write_bytes(LFS)
    (dataset / "tasks/a/evaluation/none.txt").write_bytes(b"")
    (dataset / "tasks/a/evaluation/__init__.py").write_bytes(b"")
    (dataset / "tasks/b/solution/artifacts/answer.txt").write_bytes(ANNEX)
    assert check(dataset).warnings == (
        "a: gold file gold.csv is a pointer of Git LFS, not the file itself; run `git lfs pull`",
        "a: gold file none.txt is empty; see that what belongs there was copied",
        "b/solution/artifacts/answer.txt is a pointer of git-annex, not the file itself; run `git annex get`",
    )


def test_a_job_warns_of_the_gold_of_its_tasks_and_of_no_other(dataset):
    (dataset / "tasks/a/evaluation/gold.csv").write_bytes(LFS)
    for task, count in (("a", 1), ("b", 0)):
        asked, running = given(dataset=dataset, tasks=(task,), submissions=("solution",))
        said = plan(asked, running).warnings
        assert len([text for text in said if "Git LFS" in text]) == count


def test_check_says_what_of_a_solution_an_attempt_would_refuse_or_take_otherwise(dataset):
    answer = dataset / "tasks/a/solution/artifacts/answer.txt"
    answer.unlink()
    answer.symlink_to("../real.txt")
    (dataset / "tasks/b/solution/artifacts/answer.txt").rename(dataset / "tasks/b/solution/answer.txt")
    (dataset / "tasks/b/solution-wrong/x").mkdir(parents=True)
    (dataset / "tasks/b/solution-wrong/x/artifacts").symlink_to("../../solution")
    refused = "invalid_submission: artifacts/answer.txt is a link; only regular files and folders are taken"
    assert check(dataset).warnings == (
        f"a/solution would be ERROR {refused}",
        "b/solution: answer.txt was taken for artifacts/answer.txt, which is not there",
        f"b/solution-wrong/x would be ERROR {refused}",
    )


def test_a_linked_solution_folder_is_refused_when_the_task_is_loaded(dataset):
    task = dataset / "tasks/a"
    (task / "solution").rename(task / "good")
    (task / "solution").symlink_to("good")
    with pytest.raises(SpecError, match="solution: must be a folder, and is a link"):
        check(dataset)


def test_a_link_of_git_annex_in_gold_says_what_to_run(dataset):
    (dataset / "tasks/a/evaluation/big.csv").symlink_to("../../../.git/annex/objects/xX/SHA256E-s1--4d")
    with pytest.raises(SpecError, match=r"is a link of git-annex\. Run `git annex get` and"):
        check(dataset)


def test_max_bytes_beyond_what_a_submission_may_hold_is_refused_at_load(dataset):
    path = dataset / "tasks/a/task.yaml"
    path.write_text(path.read_text().replace("answer.txt}", "answer.txt, max_bytes: 4294967297}"))
    with pytest.raises(SpecError, match=r"max_bytes: .*4294967296"):
        check(dataset)
    path.write_text(path.read_text().replace("4294967297", "4294967296"))
    assert check(dataset).warnings == ()
