"""A job scored again: from its archive only, as a new job, with what changed alone where that is asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from archived import Archiving, hand_in
from scripted_jobs import Script, make_dataset, make_task, run, scoring_digests, some_tasks

from scorehost.errors import UsageError
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.scoring.rescore.moved import moves


def equals(expected):
    """PASS for an answer that is `expected`."""

    def verdict(_order, files):
        return {} if files.get("answer") == expected else {"status": "FAIL"}

    return Archiving(verdict)


def again(tmp_path, dataset, parent, script, **options):
    asked = {"parent": parent.folder, "repeat": 1, **options}
    return run(tmp_path, dataset, script, **asked)


def contents(folder: Path):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def dataset(tmp_path):
    return some_tasks(tmp_path, "a", "b")


@pytest.fixture
def parent(tmp_path, dataset):
    words = (hand_in(tmp_path, "one", a="1", b="2"), hand_in(tmp_path, "two", a="2", b="2"))
    return run(tmp_path, dataset, equals(b"1"), submissions=words)


def test_the_archive_is_scored_and_not_what_became_of_the_submission(tmp_path, dataset, parent):
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "two/a/artifacts/answer.txt").write_text("1")
    outcome = again(tmp_path, dataset, parent, equals(b"2"))
    assert {str(row.key): row.status for row in outcome.rows} == {
        "a/one/1.1": "FAIL",
        "b/one/1.1": "PASS",
        "a/two/1.1": "PASS",
        "b/two/1.1": "PASS",
    }


def test_nothing_of_the_parent_is_overwritten(tmp_path, dataset, parent):
    before = contents(parent.folder)
    outcome = again(tmp_path, dataset, parent, equals(b"2"))
    assert contents(parent.folder) == before
    assert outcome.folder != parent.folder


def test_the_new_job_names_its_parent_in_record_events_and_summary(tmp_path, dataset, parent):
    outcome = again(tmp_path, dataset, parent, equals(b"2"))
    record = json.loads((outcome.folder / "job.json").read_bytes())
    assert record["parent"] == {"job_id": parent.job_id, "root_hash": parent.root_hash}
    events = [json.loads(line) for line in (outcome.folder / "events.jsonl").read_text().splitlines()]
    (started,) = [event for event in events if event["kind"] == "job_started"]
    assert (started["parent"], started["parent_root"]) == (parent.job_id, parent.root_hash)
    assert outcome.summary["parent"] == parent.job_id


def test_verdicts_that_moved_are_told_with_both_sides(tmp_path, dataset, parent):
    before = {one.key: one.result for one in read_job(JobFolder(parent.folder)).attempts}
    outcome = again(tmp_path, dataset, parent, equals(b"2"))
    moved = {str(one.key): (one.before, one.after) for one in moves(before, outcome.rows)}
    assert moved == {
        "a/one/1.1": ("PASS", "FAIL"),
        "a/two/1.1": ("FAIL", "PASS"),
        "b/one/1.1": ("FAIL", "PASS"),
        "b/two/1.1": ("FAIL", "PASS"),
    }


def test_with_changed_only_the_tasks_whose_evaluator_changed_are_scored(tmp_path, dataset, parent):
    (tmp_path / "tasks/b/evaluator.py").write_text("# another one\n")
    script = equals(b"2")
    outcome = again(tmp_path, dataset, parent, script, changed=True)
    assert sorted(script.keys) == ["b/one/1.1", "b/two/1.1"]
    assert (outcome.summary["done"], outcome.summary["carried"]) == (4, 2)
    # a stands: one PASS, one FAIL; b: both PASS now
    assert outcome.summary["counts"] == {"PASS": 3, "FAIL": 1, "ERROR": 0}


def test_an_attempt_that_stands_is_linked_as_it_is_and_marked(tmp_path, dataset, parent):
    outcome = again(tmp_path, dataset, parent, equals(b"2"), changed=True)
    old, new = (job.folder / "attempts/a/one/1.1" for job in (parent, outcome))
    assert contents(new) == contents(old)
    assert (new / "result.json").samefile(old / "result.json")
    read = read_job(JobFolder(outcome.folder))
    assert {one.carried_from for one in read.attempts} == {parent.job_id}
    assert read.damaged == ()


def test_with_changed_and_nothing_changed_nothing_is_scored(tmp_path, dataset, parent):
    script = equals(b"2")
    outcome = again(tmp_path, dataset, parent, script, changed=True)
    assert (script.keys, outcome.summary["carried"], outcome.status) == ([], 4, "complete")
    assert outcome.exit_status == 1  # the FAILs of the parent


@pytest.mark.parametrize("image", ["sha256:2", ""])
def test_with_changed_another_image_of_a_host_is_a_change(tmp_path, dataset, parent, image):
    script = equals(b"2")
    images = {"a": {"evaluator": image}, "b": {"evaluator": "sha256:1", "never-started": "sha256:9"}}
    again(tmp_path, dataset, parent, script, changed=True, images=images)
    assert sorted(script.keys) == ["a/one/1.1", "a/two/1.1"]


def test_with_changed_an_attempt_that_was_error_is_scored_again(tmp_path, dataset):
    def verdict(order, _files):
        return {"kind": "host_lost"} if order.key.task_id == "a" else {}

    parent = run(tmp_path, dataset, Archiving(verdict), submissions=(hand_in(tmp_path, "one", a="1", b="2"),))
    script = equals(b"1")
    outcome = again(tmp_path, dataset, parent, script, changed=True)
    assert script.keys == ["a/one/1.1"]
    assert outcome.summary["counts"]["PASS"] == 2


def test_a_submission_that_was_refused_stays_refused(tmp_path, dataset):
    word = hand_in(tmp_path, "one", a="1", b="2")
    (tmp_path / "one/a/artifacts/answer.txt").unlink()
    (tmp_path / "one/a/artifacts/answer.txt").symlink_to("/etc/passwd")
    parent = run(tmp_path, dataset, equals(b"2"), submissions=(word,))
    (tmp_path / "one/a/artifacts/answer.txt").unlink()
    outcome = again(tmp_path, dataset, parent, Archiving())
    (row,) = [row for row in outcome.rows if row.key.task_id == "a"]
    assert row.error is not None
    assert (row.error.kind, "answer.txt is a link" in row.error.message) == ("invalid_submission", True)


def test_an_artifact_that_was_not_handed_in_is_missing_again(tmp_path, dataset):
    seen = []
    parent = run(tmp_path, dataset, Archiving(), submissions=("empty",))
    again(tmp_path, dataset, parent, Archiving(lambda _order, files: seen.append(files) or {}))
    assert seen == [{}, {}]


@pytest.mark.parametrize("harm", ["changed", "added", "removed", "linked"])
def test_archived_bytes_that_are_not_what_was_scored_are_refused(tmp_path, dataset, parent, harm):
    place = parent.folder / "attempts/a/one/1.1/artifacts"
    answer = place / "answer.txt"
    if harm == "added":
        (place / "more.txt").write_text("x")
    else:
        answer.unlink()
    if harm == "changed":
        answer.write_text("2")
    if harm == "linked":
        (tmp_path / "same").write_text("1")
        answer.symlink_to(tmp_path / "same")  # the same bytes, and still not what was archived
    script = equals(b"2")
    with pytest.raises(UsageError, match=r"Archived artifacts are damaged:\n  a/one/1\.1: artifacts/"):
        again(tmp_path, dataset, parent, script)
    assert script.keys == []
    assert len(list((tmp_path / "runs").glob("2*"))) == 1


def test_a_manifest_that_was_rewritten_with_its_artifact_is_refused(tmp_path, dataset, parent):
    place = parent.folder / "attempts/a/one/1.1"
    manifest = json.loads((place / "manifest.json").read_bytes())
    (place / "manifest.json").unlink()
    (place / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match=r"manifest\.json is not what the journal says"):
        again(tmp_path, dataset, parent, equals(b"2"))


def test_an_artifact_that_a_task_declares_no_more_is_told(tmp_path, parent):
    moved = make_task(tmp_path, "a", artifacts=(("answer", "artifacts/elsewhere.txt"),))
    changed = make_dataset(tmp_path, moved, make_task(tmp_path, "b"))
    events = []
    again(tmp_path, changed, parent, equals(b"2"), watch=events)
    told = [event.fields["text"] for event in events if event.kind == "warning"]
    assert "a does not declare artifacts/answer.txt any more: what lies there is not scored" in told


def test_a_killed_rescore_goes_on_where_it_was(tmp_path, dataset, parent):
    (tmp_path / "tasks/b/evaluator.py").write_text("# another one\n")

    def broken(order, _files):
        if order.key.submission == "two":
            raise RuntimeError
        return {}

    first = again(tmp_path, dataset, parent, Archiving(broken), changed=True)
    assert (first.status, first.summary["done"]) == ("incomplete", 3)
    script = equals(b"2")
    resumed = run(tmp_path, dataset, script, resume=first.job_id)
    assert script.keys == ["b/two/1.1"]
    assert (resumed.status, resumed.summary["done"], resumed.summary["carried"]) == ("complete", 4, 2)
    assert resumed.summary["parent"] == parent.job_id


def test_an_error_before_anything_was_archived_stands_and_is_told_even_with_rerun(tmp_path, dataset):
    def lost(order):
        return {"kind": "engine_lost"} if order.key.task_id == "a" else {"digests": scoring_digests()}

    parent = run(tmp_path, dataset, Script(lost), submissions=("solution",), retry_errors=0)
    only_a = some_tasks(tmp_path, "a")
    events, script = [], Archiving()
    outcome = again(tmp_path, only_a, parent, script, watch=events, tasks=("a",))
    assert (script.keys, outcome.summary["carried"], outcome.summary["errors_left_out"]) == ([], 1, 1)
    told = " ".join(str(event.fields.get("text")) for event in events)
    assert "1 of 1 attempts ended before a submission was archived and stand unchanged, such as a/" in told
    resumed = run(tmp_path, only_a, script, resume=outcome.job_id, rerun="error")
    assert (script.keys, resumed.summary["carried"]) == ([], 1)


def test_a_rescore_can_be_scored_again_itself(tmp_path, dataset, parent):
    (tmp_path / "tasks/b/evaluator.py").write_text("# another one\n")
    second = again(tmp_path, dataset, parent, equals(b"2"), changed=True)
    third = again(tmp_path, dataset, second, equals(b"2"), changed=True)
    read = {str(one.key): one for one in read_job(JobFolder(third.folder)).attempts}
    assert (third.summary["carried"], third.summary["parent"]) == (4, second.job_id)
    assert read["a/one/1.1"].carried_from == parent.job_id
    assert read["b/one/1.1"].carried_from == second.job_id


def test_a_job_without_finished_attempts_of_the_tasks_is_refused(tmp_path, dataset, parent):
    with pytest.raises(UsageError, match="no finished attempt of these tasks"):
        again(tmp_path, some_tasks(tmp_path, "c"), parent, equals(b"2"))
