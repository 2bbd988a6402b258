"""Lists of jobs and attempts come from an index that is never needed and never trusted over the files."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "jobs"))
from scripted_jobs import Script, run, some_tasks

from scorehost.errors import UsageError
from scorehost.model.ids import AttemptKey
from scorehost.runs import index
from scorehost.runs.claim import claimed
from scorehost.runs.folder import JobFolder
from scorehost.runs.index import PLACE, list_attempts, list_jobs
from scorehost.runs.reading import read_job


def verdict(order):
    kinds = {"b": {"status": "FAIL", "score": 0.25}, "c": {"kind": "evaluator_oom"}}
    return kinds.get(order.key.task_id, {})


EXPECTED = [
    ("a/solution/1.1", "PASS", 1.0, None, 1.5),
    ("b/solution/1.1", "FAIL", 0.25, None, 1.5),
    ("c/solution/1.1", "ERROR", None, "evaluator_oom", 1.5),
]


@pytest.fixture
def dataset(tmp_path):
    return some_tasks(tmp_path, "a", "b", "c")


@pytest.fixture
def job(tmp_path, dataset):
    return JobFolder(run(tmp_path, dataset, Script(verdict), submissions=("solution",), name="mine").folder)


def listed(job):
    return [(str(one.key), one.status, one.score, one.error, one.seconds) for one in list_attempts(job)]


def unread(monkeypatch):
    def refuse(_folder):
        raise AssertionError("the files were read")

    monkeypatch.setattr(index, "read_job", refuse)


def test_a_job_that_ended_is_listed_without_its_attempts_being_read(job, monkeypatch):
    unread(monkeypatch)
    assert listed(job) == EXPECTED


@pytest.mark.parametrize("harm", ["missing", "damaged", "torn", "another's", "link"])
def test_an_index_that_is_missing_or_damaged_is_made_anew(tmp_path, job, harm, monkeypatch):
    place = job.path.parent / PLACE / job.job_id
    whole = place.read_bytes()
    if harm == "missing":
        place.unlink()
        place.parent.rmdir()
    elif harm == "damaged":
        place.write_bytes(b"\0" * 100)
    elif harm == "torn":
        place.write_bytes(whole[:-10])
    elif harm == "another's":
        place.write_bytes(whole.replace(job.job_id.encode(), b"20200101-000000-aaaa"))
    else:
        place.rename(tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    assert listed(job) == EXPECTED
    assert place.read_bytes() == whole
    unread(monkeypatch)
    assert listed(job) == EXPECTED


def test_an_index_of_an_earlier_sitting_is_not_believed(tmp_path, dataset, job):
    stale = (job.path.parent / PLACE / job.job_id).read_bytes()
    run(tmp_path, dataset, Script(), resume="latest", rerun="error")
    (job.path.parent / PLACE / job.job_id).write_bytes(stale)
    assert listed(job)[2] == ("c/solution/1.1", "PASS", 1.0, None, 1.5)


def test_where_nothing_can_be_written_lists_are_made_all_the_same(job):
    top = job.path.parent
    (top / PLACE / job.job_id).unlink()
    (top / PLACE).rmdir()
    (top / PLACE).write_text("in the way")
    assert listed(job) == EXPECTED
    assert [one.job_id for one in list_jobs(top)] == [job.job_id]
    assert (top / PLACE).read_text() == "in the way"


def test_a_job_ends_as_well_where_no_index_can_be_written(tmp_path, dataset):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / PLACE).write_text("in the way")
    outcome = run(tmp_path, dataset, Script(), submissions=("solution",))
    assert (outcome.status, outcome.exit_status) == ("complete", 0)


def test_jobs_are_listed_oldest_first_with_what_their_summaries_say(tmp_path, dataset, job):
    other = run(tmp_path, dataset, Script(), submissions=("solution",), tasks=("a",))
    bad = job.path.parent / "20200101-000000-aaaa"
    bad.mkdir()
    (bad / "job.json").write_text("{")
    (job.path.parent / PLACE / other.job_id).unlink()
    oldest, *both = list_jobs(job.path.parent)
    first, second = sorted(both, key=lambda one: one.job_id != job.job_id)
    assert [one.job_id for one in both] == sorted((job.job_id, other.job_id))
    assert (oldest.job_id, oldest.status) == ("20200101-000000-aaaa", "unreadable")
    assert (first.job_id, first.name, first.dataset_id, first.status) == (
        job.job_id,
        "mine",
        "demo",
        "complete",
    )
    # 1, 0.25, and the ERROR of the dataset in evaluation, which counts as the lowest
    assert (first.planned, first.done, first.mean_score) == (3, 3, pytest.approx(1.25 / 3))
    assert (second.job_id, second.planned, second.mean_score) == (other.job_id, 1, 1.0)
    assert list_jobs(tmp_path / "nowhere") == ()


def test_a_job_that_runs_is_listed_as_running_and_its_list_is_not_kept(job):
    place = job.path.parent / PLACE / job.job_id
    place.unlink()
    (job.path / "summary.json").unlink()
    with claimed(job.path, "job"):
        assert [one.status for one in list_jobs(job.path.parent)] == ["running"]
        assert listed(job) == EXPECTED
    assert not place.exists()
    assert [one.status for one in list_jobs(job.path.parent)] == ["interrupted"]


def test_a_report_of_a_job_that_runs_says_so(job):
    with claimed(job.path, "job"):
        assert read_job(job).status == "running"
    assert read_job(job).status == "complete"


def test_a_list_of_jobs_reads_no_rows_of_their_attempts(job):
    (entry,) = list_jobs(job.path.parent)
    place = job.path.parent / PLACE / job.job_id
    head = place.read_bytes().partition(b"\n")[0]
    with place.open("wb") as stream:
        stream.write(head + b"\n")
        stream.truncate(index.INDEX_BYTES + 1)  # a sparse file: whoever read it whole would refuse it
    assert entry.state  # what is read from the files has none
    assert list_jobs(job.path.parent) == (entry,)


def test_a_damaged_attempt_is_in_no_list_that_is_made_anew(job):
    (job.path / "attempts/b/solution/1.1/result.json").write_text("{}")
    (job.path.parent / PLACE / job.job_id).unlink()
    assert [key for key, *_ in listed(job)] == ["a/solution/1.1", "c/solution/1.1"]


def test_what_is_no_job_has_no_attempts(tmp_path):
    with pytest.raises(UsageError, match="is no job"):
        list_attempts(JobFolder(tmp_path))


def test_two_that_write_the_index_at_once_leave_a_whole_one(job):
    place = job.path.parent / PLACE / job.job_id
    failed = []

    def rewriting():
        for _ in range(20):
            place.unlink(missing_ok=True)
            if listed(job) != EXPECTED:
                failed.append(1)

    threads = [threading.Thread(target=rewriting) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert listed(job) == EXPECTED
    assert json.loads(place.read_bytes().partition(b"\n")[0])["job_id"] == job.job_id


def test_the_list_of_a_job_that_was_deleted_goes_with_the_next(tmp_path, dataset, job):
    place = job.path.parent / PLACE
    shutil.rmtree(job.path)
    other = run(tmp_path, dataset, Script(), submissions=("solution",))
    assert [path.name for path in place.iterdir()] == [other.job_id]


def test_an_entry_names_its_attempt_by_key(job):
    assert list_attempts(job)[1].key == AttemptKey(task_id="b", submission="solution")
