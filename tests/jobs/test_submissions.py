"""Every way to hand in, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from scripted_jobs import Script, make_dataset, make_task, planned, run, some_tasks

from scorehost.errors import SpecError, UsageError


def plan(root, dataset, *words, **options):
    return planned(dataset, root / "staging", submissions=words, **options)


def keys(made):
    return [str(order.key) for order in made.orders]


def source(made, key):
    return next(order.work.sample for order in made.orders if str(order.key) == key)


def write(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_run_without_a_submission_says_how_to_name_one(tmp_path):
    with pytest.raises(UsageError, match="--submission solution"):
        plan(tmp_path, some_tasks(tmp_path, "a"))


def test_solution_and_wrong_are_scored_on_the_tasks_that_have_them(tmp_path):
    dataset = make_dataset(
        tmp_path, make_task(tmp_path, "a", wrong=("late",)), make_task(tmp_path, "b", solution=False)
    )
    made, _ = plan(tmp_path, dataset, "solution", "wrong:late", "empty")
    assert sorted(keys(made)) == ["a/empty/1.1", "a/solution/1.1", "a/wrong-late/1.1", "b/empty/1.1"]
    assert source(made, "a/wrong-late/1.1").folder == tmp_path / "tasks" / "a" / "solution-wrong" / "late"
    assert source(made, "b/empty/1.1").folder is None


def test_an_unknown_wrong_solution_names_the_near_ones(tmp_path):
    dataset = some_tasks(tmp_path, "a", wrong=("late",))
    with pytest.raises(UsageError, match="late"):
        plan(tmp_path, dataset, "wrong:lat")


def test_a_folder_holds_one_folder_for_each_task(tmp_path):
    write(tmp_path / "team" / "a" / "artifacts" / "answer.txt")
    dataset = some_tasks(tmp_path, "a", "b")
    made, warnings = plan(tmp_path, dataset, str(tmp_path / "team"))
    assert source(made, "a/team/1.1").folder == tmp_path / "team" / "a"
    # b is left out by the submitter: still scored, as handed in empty.
    assert source(made, "b/team/1.1").folder is None
    assert "nothing for 1 of 2 tasks" in warnings[0]


def test_with_one_task_selected_the_folder_may_hold_its_artifacts_directly(tmp_path):
    write(tmp_path / "team" / "artifacts" / "answer.txt")
    dataset = some_tasks(tmp_path, "a", "b")
    made, warnings = plan(tmp_path, dataset, str(tmp_path / "team"), tasks=("a",))
    assert source(made, "a/team/1.1").folder == tmp_path / "team"
    assert warnings == []


def test_samples_keep_their_numbers(tmp_path):
    for number in ("1", "3", "10"):
        (tmp_path / "team" / "a" / "samples" / number).mkdir(parents=True)
    for stray in ("0", "01", "x", "10001"):
        (tmp_path / "team" / "a" / "samples" / stray).mkdir()
    made, warnings = plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "team"))
    assert keys(made) == ["a/team/1.1", "a/team/3.1", "a/team/10.1"]
    assert "4 entries are no sample numbers" in warnings[0]


@pytest.mark.parametrize("stray", ["01", "0", "first"])
def test_a_sample_whose_number_cannot_be_read_is_refused_and_not_scored_as_empty(tmp_path, stray):
    write(tmp_path / "team" / "a" / "samples" / stray / "artifacts" / "answer.txt")
    write(tmp_path / "team" / "b" / "artifacts" / "answer.txt")
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a", "b"), str(tmp_path / "team"))
    assert keys(made) == ["a/team/1.1", "b/team/1.1"]
    assert f"a/samples has no sample: '{stray}' is no number from 1" in source(made, "a/team/1.1").refused
    assert source(made, "b/team/1.1").refused == ""


def test_an_empty_folder_of_samples_is_nothing_handed_in(tmp_path):
    (tmp_path / "team" / "a" / "samples").mkdir(parents=True)
    write(tmp_path / "team" / "a" / "samples" / ".DS_Store")
    made, warnings = plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "team"))
    assert (source(made, "a/team/1.1").folder, source(made, "a/team/1.1").refused) == (None, "")
    assert "nothing for 1 of 1 tasks" in warnings[0]


def test_a_hand_in_without_any_declared_artifact_is_a_warning_that_says_what_lies_there(tmp_path):
    for path in ("notes.txt", "artifacts/anwser.txt", "x", "y"):
        write(tmp_path / "team" / path)
    dataset = some_tasks(tmp_path, "a", "b")
    made, warnings = plan(tmp_path, dataset, str(tmp_path / "team"), tasks=("a",))
    assert source(made, "a/team/1.1").folder == tmp_path / "team"
    (warning,) = warnings
    assert "1 of its hand-ins have none of the declared artifacts" in warning
    assert "has no artifacts/answer.txt; it holds 'artifacts', 'notes.txt', 'x', …" in warning


def test_a_declared_artifact_that_is_a_link_is_no_missing_one(tmp_path):
    (tmp_path / "team" / "artifacts").mkdir(parents=True)
    (tmp_path / "team" / "artifacts" / "answer.txt").symlink_to("/nowhere")
    assert plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "team"))[1] == []


@pytest.mark.parametrize("wrapped", ["team/a/artifacts/answer.txt", "a/artifacts/answer.txt"])
def test_what_a_file_manager_adds_to_an_archive_changes_nothing(tmp_path, wrapped):
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        for name in (wrapped, f"__MACOSX/._{wrapped.split('/')[0]}", ".DS_Store", "._team"):
            archive.writestr(name, "x")
    made, warnings = plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "team.zip"))
    assert (source(made, "a/team/1.1").folder / "artifacts" / "answer.txt").read_text() == "x"
    assert warnings == []


def test_predictions_that_can_be_read_only_once_are_refused_at_once(tmp_path):
    read, written = os.pipe()
    os.write(written, b'{"task_id": "a", "answer": "1"}\n')
    os.close(written)
    try:
        with pytest.raises(UsageError, match="no regular file") as refused:
            plan(tmp_path, some_tasks(tmp_path, "a"), predictions=Path(f"/dev/fd/{read}"))
    finally:
        os.close(read)
    assert "into a file" in refused.value.hint


def test_name_equals_path_names_it(tmp_path):
    (tmp_path / "odd name").mkdir()
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a"), f"mine={tmp_path / 'odd name'}")
    assert keys(made) == ["a/mine/1.1"]


@pytest.mark.parametrize("name", ["..", ".", "", "solution", "empty"])
def test_a_name_that_would_leave_the_job_or_mislead_is_refused(tmp_path, name):
    (tmp_path / "s").mkdir()
    with pytest.raises(UsageError):
        plan(tmp_path, some_tasks(tmp_path, "a"), f"{name}={tmp_path / 's'}")


def test_two_submissions_of_one_name_are_refused(tmp_path):
    (tmp_path / "x" / "team").mkdir(parents=True)
    (tmp_path / "y" / "Team").mkdir(parents=True)
    with pytest.raises(UsageError, match="Two submissions"):
        plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "x" / "team"), str(tmp_path / "y" / "Team"))


def test_a_missing_folder_is_an_error_that_names_it(tmp_path):
    with pytest.raises(UsageError, match="nosuch") as raised:
        plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "nosuch"))
    assert "Known: empty, solution." in raised.value.hint  # and no `run`: nothing here has a run.py


def test_the_submitters_own_name_is_taken_from_its_card(tmp_path):
    write(tmp_path / "dir1" / "submission.yaml", "name: model-7\nteam: us\n")
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "dir1"))
    assert keys(made) == ["a/model-7/1.1"]
    assert made.subject.submissions[0].card.team == "us"
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a"), f"mine={tmp_path / 'dir1'}")
    assert keys(made) == ["a/mine/1.1"]


@pytest.mark.parametrize("claim", ["other", "OTHER", "solution", "..", "wrong-late"])
def test_a_card_cannot_take_another_submissions_name(tmp_path, claim):
    write(tmp_path / "evil" / "submission.yaml", f'name: "{claim}"\n')
    (tmp_path / "other").mkdir()
    made, warnings = plan(
        tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "evil"), str(tmp_path / "other")
    )
    assert keys(made) == ["a/evil/1.1", "a/other/1.1"]
    assert any("its own name stands" in text for text in warnings)


def test_a_broken_card_is_a_warning(tmp_path):
    write(tmp_path / "team" / "submission.yaml", "name: [\n")
    made, warnings = plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "team"))
    assert keys(made) == ["a/team/1.1"]
    assert "ignored" in warnings[0]


def test_a_link_in_place_of_a_folder_is_refused_and_never_followed(tmp_path):
    outside = tmp_path / "outside"
    write(outside / "artifacts" / "answer.txt")
    (outside / "1").mkdir()
    team = tmp_path / "team"
    (team / "b").mkdir(parents=True)
    (team / "c" / "samples").mkdir(parents=True)
    (team / "a").symlink_to(outside)
    (team / "b" / "samples").symlink_to(outside)
    (team / "c" / "samples" / "1").symlink_to(outside)
    write(team / "d")
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a", "b", "c", "d"), str(team))
    refused = {order.key.task_id: order.work.sample.refused for order in made.orders}
    assert all(order.work.sample.folder is None for order in made.orders)
    assert "a link" in refused["a"]
    assert "samples is a link" in refused["b"]
    assert "a link" in refused["c"]
    assert "team/d is a file, where a folder is expected" in refused["d"]


def test_each_child_of_a_submissions_folder_is_one(tmp_path):
    hand_ins = tmp_path / "all"
    write(hand_ins / "one" / "a" / "artifacts" / "answer.txt", "1")
    with zipfile.ZipFile(hand_ins / "two.zip", "w") as archive:
        archive.writestr("a/artifacts/answer.txt", "2")
    with tarfile.open(hand_ins / "three.tar.gz", "w:gz") as archive:
        add(archive, "three/a/artifacts/answer.txt", b"3")
    write(hand_ins / "README.md")
    write(hand_ins / ".hidden" / "x")
    made, warnings = plan(tmp_path, some_tasks(tmp_path, "a"), submissions_dir=hand_ins)
    assert sorted(keys(made)) == ["a/one/1.1", "a/three/1.1", "a/two/1.1"]
    read = {
        order.key.submission: (order.work.sample.folder / "artifacts" / "answer.txt").read_text()
        for order in made.orders
    }
    assert read == {"one": "1", "two": "2", "three": "3"}
    assert [text.partition("all: ")[2] for text in warnings] == [
        ".hidden is hidden and is not taken.",
        "README.md is not taken for artifacts/answer.txt, which ends in .txt.",
    ]


def add(archive, name, data=b"x", **attributes):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in attributes.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


def test_a_hostile_archive_is_an_invalid_submission_and_stops_nobody_else(tmp_path):
    hand_ins = tmp_path / "all"
    write(hand_ins / "good" / "a" / "artifacts" / "answer.txt")
    with tarfile.open(hand_ins / "evil.tar.gz", "w:gz") as archive:
        add(archive, "../outside")
    seen = {}

    def verdict(order):
        seen[order.key.submission] = order.work.sample.refused
        return {}

    outcome = run(tmp_path, some_tasks(tmp_path, "a"), Script(verdict), submissions_dir=hand_ins)
    assert outcome.status == "complete"
    assert seen["good"] == ""
    assert "points out of the archive" in seen["evil"]
    assert not (tmp_path / "outside").exists()
    assert not (outcome.folder / "incoming").exists()


def rows(*given):
    return "".join(json.dumps(row) + "\n" for row in given)


def test_predictions_are_found_by_id_or_source_id_and_repeats_are_samples(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", source_id="Real/0"), make_task(tmp_path, "b"))
    text = rows({"task_id": "a", "answer": "1"}, {"task_id": "Real/0", "answer": "2"})
    plain = write(tmp_path / "my run.jsonl", text)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    made, warnings = plan(tmp_path, dataset, predictions=plain)
    assert keys(made) == ["a/my-run/1.1", "b/my-run/1.1", "a/my-run/2.1"]
    assert source(made, "a/my-run/2.1").texts == {"answer": "2"}
    assert source(made, "b/my-run/1.1").texts == {}
    assert "no row for 1 of 2 tasks" in warnings[0]
    assert keys(plan(tmp_path, dataset, predictions=packed)[0])[0] == "a/packed/1.1"


def test_rows_of_tasks_that_are_not_selected_are_passed_over(tmp_path):
    path = write(tmp_path / "p.jsonl", rows({"task_id": "a", "answer": "1"}, {"task_id": "b", "answer": "1"}))
    made, _ = plan(tmp_path, some_tasks(tmp_path, "a", "b"), predictions=path, tasks=("b",))
    assert keys(made) == ["b/p/1.1"]


def test_every_bad_row_is_named_with_its_line(tmp_path):
    lines = [
        '{"task_id": "a", "answer": "fine"}',
        '{"task_id": 7, "answer": "x"}',
        '{"task_id": "a", "answr": "x"}',
        '{"task_id": "a", "answer": 5}',
        '{"answer": "x"}',
        '{"task_id": "a", "task_id": "a"}',
        "[1]",
        "not json",
        '{"task_id": "a", "answer": NaN}',
        '{"task_id": "t", "tree": "x"}',
    ]
    path = write(tmp_path / "p.jsonl", "\n".join(lines))
    dataset = make_dataset(
        tmp_path,
        make_task(tmp_path, "a"),
        make_task(tmp_path, "t", artifacts=(("tree", "artifacts/x/"),)),
    )
    with pytest.raises(SpecError) as caught:
        plan(tmp_path, dataset, predictions=path)
    assert [problem.line for problem in caught.value.problems] == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert "Did you mean answer?" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b broken"])
def test_a_predictions_file_without_rows_is_an_error(tmp_path, content):
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        plan(tmp_path, some_tasks(tmp_path, "a"), predictions=path)


def test_a_fifo_named_as_a_submission_is_refused_without_a_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="neither a folder nor an archive"):
        plan(tmp_path, some_tasks(tmp_path, "a"), str(tmp_path / "pipe"))
