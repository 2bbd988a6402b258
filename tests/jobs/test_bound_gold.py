"""Jobs whose gold is bound under one key, under two, or in the way of the first release."""

from __future__ import annotations

import json

import pytest
from archived import Archiving, hand_in
from first_format import put_back
from scripted_jobs import make_dataset, make_task, run, scoring_digests

from scorehost.compare.comparison import compare_jobs
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.compare.wording import comparison_words
from scorehost.errors import UsageError
from scorehost.jobs.summary import mixed_tasks
from scorehost.model.ids import AttemptKey
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import read_history
from scorehost.runs.reading import read_job
from scorehost.runs.scored import Scored
from scorehost.scoring.rescore.archive import damage

SMALL = b"42"


def gold_dataset(root, gold=SMALL):
    """Two tasks with the gold file `answer.txt`."""
    tasks = []
    for name in "ab":
        task = make_task(root, name, solution=False)
        path = task.folder / "evaluation/answer.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gold)
        tasks.append(task.model_copy(update={"gold": {"answer.txt": path}}))
    return make_dataset(root, *tasks)


def compared(a, b, **options):
    return compare_jobs(a, b, must_agree=scoring_differences, **options)


def new_key(root):
    (root / "gold.key").write_bytes(b"n" * 32)


@pytest.fixture
def dataset(tmp_path):
    return gold_dataset(tmp_path)


@pytest.fixture
def words(tmp_path):
    return (hand_in(tmp_path, "one", a="1", b="2"),)


def job(root, dataset, words, script=None, **options):
    outcome = run(root, dataset, script or Archiving(), submissions=words, **options)
    return read_job(JobFolder(outcome.folder))


def rescored(root, dataset, parent, script=None):
    script = script or Archiving()
    run(root, dataset, script, parent=parent.folder.path, repeat=1, changed=True, images=IMAGES)
    return script.keys


IMAGES = {task_id: {"evaluator": "sha256:1"} for task_id in "ab"}


def test_gold_is_bound_by_its_key_and_by_no_plain_digest_in_record_and_results(tmp_path, dataset, words):
    found = job(tmp_path, dataset, words)
    record = json.loads((found.folder.path / "job.json").read_bytes())
    assert record["tasks"]["a"]["digests"]["gold"].startswith("gold-hmac:")
    assert len(record["dataset"]["gold_key"]) == 16
    for one in found.attempts:
        scoring = one.result.digests.scoring
        assert scoring.gold == record["tasks"][one.key.task_id]["digests"]["gold"]
        assert scoring.gold_key == record["dataset"]["gold_key"]


def test_jobs_under_one_key_are_compared_as_ever(tmp_path, dataset, words):
    found = compared(job(tmp_path, dataset, words), job(tmp_path, dataset, words))
    assert (found.comparable, found.differences, found.notes) == (True, (), ())


def test_jobs_under_two_keys_cannot_be_compared_and_are_not_said_to_differ(tmp_path, dataset, words):
    one = job(tmp_path, dataset, words)
    new_key(tmp_path)
    found = compared(one, job(tmp_path, dataset, words))
    assert (found.comparable, found.figures) == (False, None)
    assert [(d.what, d.kind, d.text, d.tasks) for d in found.differences] == [
        (
            "gold",
            "unknown",
            "gold cannot be compared: gold.key is not the one that it was bound under",
            ("a", "b"),
        )
    ]
    told = comparison_words(found).verdict
    assert told.startswith("No ranking: gold of A and B was bound under two keys")
    assert "different inputs" not in told


def test_figures_of_jobs_under_two_keys_are_told_when_that_is_allowed(tmp_path, dataset, words):
    one = job(tmp_path, dataset, words)
    new_key(tmp_path)
    found = compared(one, job(tmp_path, dataset, words), allow_mismatch=True)
    assert found.figures is not None
    assert comparison_words(found).verdict.startswith("MISMATCH ALLOWED: nobody can tell whether")


def test_other_gold_under_one_key_differs(tmp_path, dataset, words):
    one = job(tmp_path, dataset, words)
    (tmp_path / "tasks/a/evaluation/answer.txt").write_bytes(b"43")
    found = compared(one, job(tmp_path, dataset, words))
    assert [(d.what, d.kind, d.tasks) for d in found.differences] == [("gold", "scoring", ("a",))]


def test_a_job_does_not_go_on_under_another_key_and_says_why(tmp_path, dataset, words):
    job(tmp_path, dataset, words)
    new_key(tmp_path)
    with pytest.raises(UsageError, match=r"gold cannot be compared: gold\.key is not the one") as caught:
        run(tmp_path, dataset, resume="latest")
    assert "a: gold" not in str(caught.value)


def test_a_rescore_of_changes_scores_again_what_it_cannot_tell_and_says_why(tmp_path, dataset, words):
    parent = job(tmp_path, dataset, words)
    assert rescored(tmp_path, dataset, parent) == []
    new_key(tmp_path)
    events = []
    script = Archiving()
    run(
        tmp_path,
        dataset,
        script,
        parent=parent.folder.path,
        repeat=1,
        changed=True,
        images=IMAGES,
        watch=events,
    )
    assert script.keys == ["a/one/1.1", "b/one/1.1"]
    told = [event.fields.get("text", "") for event in events]
    assert any(
        "it cannot be told whether the gold set changed: gold.key is another one" in text for text in told
    )
    assert not any("the gold set changed," in text for text in told)


def test_a_job_of_the_first_release_goes_on_and_keeps_its_attempts(tmp_path, dataset, words):
    first = job(tmp_path, dataset, words)
    put_back(first.folder.path, dataset)
    before = (first.folder.path / "attempts/a/one/1.1/result.json").read_bytes()
    script = Archiving()
    outcome = run(tmp_path, dataset, script, resume="latest")
    assert (outcome.status, script.keys) == ("complete", [])
    assert (first.folder.path / "attempts/a/one/1.1/result.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "named"),
    [("tasks/a/evaluation/answer.txt", "a: gold"), ("tasks/a/evaluator.py", "a: evaluator.py")],
)
def test_such_a_job_still_finds_what_changed(tmp_path, dataset, words, change, named):
    put_back(job(tmp_path, dataset, words).folder.path, dataset)
    (tmp_path / change).write_text("changed")
    with pytest.raises(UsageError, match=named):
        run(tmp_path, dataset, resume="latest")


def test_a_rescore_of_changes_of_such_a_job_knows_what_is_the_same(tmp_path, dataset, words):
    parent = job(tmp_path, dataset, words)
    put_back(parent.folder.path, dataset)
    assert rescored(tmp_path, dataset, parent) == []
    (tmp_path / "tasks/b/evaluation/answer.txt").write_bytes(b"43")
    assert rescored(tmp_path, dataset, parent) == ["b/one/1.1"]


def test_a_comparison_with_such_a_job_says_what_is_unknown_and_not_that_it_differs(tmp_path, dataset, words):
    first = job(tmp_path, dataset, words)
    put_back(first.folder.path, dataset)
    found = compared(read_job(first.folder), job(tmp_path, dataset, words))
    assert (found.comparable, found.differences) == (True, ())
    # That the files were rewritten is told as well.
    (note,) = [note for note in found.notes if not note.startswith("A: ")]
    assert note == (
        "whether gold, task.yaml and limits are the same is unknown for 2 tasks, "
        "since one of the jobs has results of the first format: a, b"
    )


def test_attempts_of_both_formats_in_one_job_make_it_no_mixed_one():
    first = scoring_digests(gold="sha256:1", task="sha256:2")
    second = scoring_digests(gold="gold-hmac:1", gold_key="k", task="sha256:3")
    assert mixed_tasks(scored(first, second)) == ()
    assert mixed_tasks(scored(second, second.model_copy(update={"gold": "gold-hmac:2"}))) == ("a",)
    assert mixed_tasks(scored(first, first.model_copy(update={"limits": "x"}), second)) == ("a",)


def test_a_role_that_answers_otherwise_makes_a_mixed_job():
    one, two = (scoring_digests(roles={"judge": f"sha256:{n}"}) for n in (1, 2))
    assert mixed_tasks(scored(one, scoring_digests())) == ()  # it was not asked
    assert mixed_tasks(scored(one, one)) == ()
    assert mixed_tasks(scored(one, two)) == ("a",)


def scored(*digests):
    return [
        Scored(AttemptKey(task_id="a", submission="s", sample=n), 1, "PASS", 1.0, None, 0.0, {}, one)
        for n, one in enumerate(digests, start=1)
    ]


def test_a_role_that_answers_otherwise_refuses_a_ranking(tmp_path, dataset, words):
    def judged(number):
        return Archiving(
            lambda order, _files: {"roles": {"judge": f"sha256:{number}"}} if order.key.task_id == "a" else {}
        )

    one, two, three = (job(tmp_path, dataset, words, judged(n)) for n in (1, 1, 2))
    assert compared(one, two).comparable
    found = compared(one, three)
    assert [(d.what, d.kind, d.text, d.tasks) for d in found.differences] == [
        ("roles", "scoring", "the model, parameters or adapter of role judge differ", ("a",))
    ]


@pytest.mark.parametrize("file", ["artifacts/answer.txt", "salts.json", "manifest.json"])
def test_an_archive_that_was_changed_is_found_by_its_salted_digest(tmp_path, dataset, words, file):
    found = job(tmp_path, dataset, words)
    one = found.attempts[0]
    history = read_history(found.folder.path / "events.jsonl")
    assert damage(one, history) == ""
    path = one.folder / file
    path.chmod(0o600)
    data = path.read_bytes()
    path.unlink()  # it is linked elsewhere
    path.write_bytes(data.replace(b"1", b"2"))
    assert damage(one, history) != ""


def test_an_archive_of_the_first_release_is_checked_by_its_plain_digests(tmp_path, dataset, words):
    found = job(tmp_path, dataset, words)
    put_back(found.folder.path, dataset)
    one = read_job(found.folder).attempts[0]
    history = read_history(found.folder.path / "events.jsonl")
    assert damage(one, history) == ""
    path = one.folder / "artifacts/answer.txt"
    path.unlink()
    path.write_bytes(b"2")
    assert damage(one, history) == "artifacts/answer.txt is not what was scored"
