"""An artifact that lies elsewhere is taken where it can be no other, and said; a near miss is suggested."""

from __future__ import annotations

import pytest

from scorehost.spec.task import Artifact
from submissions.packing import ANSWER, SITE, dataset_of, tar, verdicts


def write(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def file(name, path):
    return Artifact(id=name, path=path)


@pytest.mark.parametrize(
    ("declared", "handed_in"),
    [
        ("artifacts/answer.csv", "answer.csv"),
        ("artifacts/out/answer.csv", "answer.csv"),
        ("artifacts/out/answer.csv", "out/answer.csv"),
        ("answer.csv", "artifacts/answer.csv"),
        ("out/answer.csv", "answer.csv"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_end_of_a_declared_path_is_taken_for_it_and_said(tmp_path, declared, handed_in, packed):
    dataset = dataset_of(tmp_path, a=(file("answer", declared),))
    write(tmp_path / "team" / handed_in, "mine")
    word = tar(tmp_path / "team", tmp_path) if packed else tmp_path / "team"
    made, said = verdicts(tmp_path, dataset, str(word))
    assert made == {("a", 1): {"answer": ({b"": (b"mine", False)}, [])}}
    where = "team.tar.gz/team: " if packed else ""
    assert said == [f"{where}{handed_in} was taken for {declared}, which is not there"]


def test_a_tree_may_lie_at_the_top_too(tmp_path):
    dataset = dataset_of(tmp_path, a=(SITE,))
    write(tmp_path / "team/site/index.html", "page")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert made["a", 1]["site"][0] == {b"index.html": (b"page", False)}
    assert said == ["site was taken for artifacts/site, which is not there"]


def test_what_lies_at_the_declared_path_is_taken_whatever_else_is_there(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER,))
    write(tmp_path / "team/answer.txt", "other")
    write(tmp_path / "team/artifacts/answer.txt", "mine")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert (made["a", 1]["answer"][0], said) == ({b"": (b"mine", False)}, [])


def test_what_could_be_two_artifacts_is_taken_for_none(tmp_path):
    dataset = dataset_of(tmp_path, a=(file("x", "artifacts/x/out.csv"), file("y", "artifacts/y/out.csv")))
    write(tmp_path / "team/out.csv")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert made["a", 1] == {}
    assert any("was not handed in; is out.csv meant to be it?" in text for text in said)


def test_a_file_inside_of_another_artifacts_tree_is_not_taken_twice(tmp_path):
    tree = Artifact(id="work", path="workspace", kind="tree")
    dataset = dataset_of(tmp_path, a=(tree, file("x", "artifacts/workspace/x.csv")))
    write(tmp_path / "team/workspace/x.csv")
    assert set(verdicts(tmp_path, dataset, str(tmp_path / "team"))[0]["a", 1]) == {"work"}


@pytest.mark.parametrize("make", ["folder", "link"])
def test_only_a_file_is_taken_for_a_file(tmp_path, make):
    dataset = dataset_of(tmp_path, a=(ANSWER,))
    (tmp_path / "team").mkdir()
    if make == "folder":
        (tmp_path / "team/answer.txt").mkdir()
    else:
        (tmp_path / "team/answer.txt").symlink_to("/etc/passwd")
    assert verdicts(tmp_path, dataset, str(tmp_path / "team"))[0]["a", 1] == {}


@pytest.mark.parametrize(
    "near", ["artifacts/Answer.txt", "artifacts/answer.text", "artefacts/answer.txt", "artifacts/anwser.txt"]
)
def test_a_near_miss_is_suggested_and_not_taken(tmp_path, near):
    dataset = dataset_of(tmp_path, a=(file("answer", "artifacts/answer.txt"), file("log", "artifacts/log")))
    write(tmp_path / "team" / near)
    write(tmp_path / "team/artifacts/log")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert set(made["a", 1]) == {"log"}
    assert said == [f"artifacts/answer.txt was not handed in; is {near} meant to be it?"]


def test_a_near_miss_of_a_tasks_folder_is_suggested(tmp_path):
    dataset = dataset_of(tmp_path, slugify=(ANSWER,), other=(ANSWER,))
    write(tmp_path / "team/slugfy/artifacts/answer.txt")
    write(tmp_path / "team/other/artifacts/answer.txt")
    _, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert "'slugfy' in it is no task id: is slugify meant?" in said[0]


def test_a_message_names_the_archive_and_the_path_in_it_and_no_folder_of_ours(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER,), b=(ANSWER,))
    write(tmp_path / "team/a/what.csv")
    write(tmp_path / "team/b/artifacts/answer.txt")
    _, said = verdicts(tmp_path, dataset, str(tar(tmp_path / "team", tmp_path)))
    assert (
        "such as team.tar.gz/team/a for a, which has no artifacts/answer.txt; it holds 'what.csv'." in said[0]
    )
    assert not any("staging" in text for text in said)


def test_a_card_that_cannot_be_used_is_named_by_the_archive_and_its_path_in_it(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER,))
    write(tmp_path / "team/artifacts/answer.txt")
    write(tmp_path / "team/submission.yaml", "name: [")
    _, said = verdicts(tmp_path, dataset, str(tar(tmp_path / "team", tmp_path)))
    assert said[0].startswith("team.tar.gz/team/submission.yaml:")
    assert said[0].endswith("the card is ignored.")
    (tmp_path / "team/submission.yaml").unlink()
    (tmp_path / "team/submission.yaml").symlink_to("/etc/passwd")
    for word, where in (
        (tar(tmp_path / "team", tmp_path), "team.tar.gz/team"),
        (tmp_path / "team", tmp_path / "team"),
    ):
        _, said = verdicts(tmp_path, dataset, str(word))
        assert said[0].startswith(f"{where}/submission.yaml is ")


def test_a_folder_in_a_folder_is_taken_for_it_and_said(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER,), b=(ANSWER,))
    write(tmp_path / "team/team/a/artifacts/answer.txt", "1")
    write(tmp_path / "team/team/b/artifacts/answer.txt", "2")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team"))
    assert made["a", 1]["answer"][0] == {b"": (b"1", False)}
    assert "the only folder in it, team, is taken for it" in said[0]
