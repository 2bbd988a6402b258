"""Jobs that the last release made, on a real engine, are read, resumed and scored again by this one.

tests/data/release-0.1 is as that release wrote it, but for the path of its place, which stands as /place:
jobs of two submissions twice, of a PASS with a FAIL and an ERROR, of a rescore, of an audit, and one that
SIGINT ended after the first of eight attempts.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from archived import Archiving
from scripted_jobs import Script, run

from scorehost import api
from scorehost.api.running import resolved
from scorehost.attempt.digests import Tools
from scorehost.errors import UsageError
from scorehost.jobs.running import Running
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.runs.record import FORMAT
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.rescore.asking import asked_again
from scorehost.spec.loading import load_dataset

KEPT = Path(__file__).parents[1] / "data" / "release-0.1"
COMPLETE, MIXED, AGAIN = "20261201-005818-d384", "20261201-005820-41fb", "20261201-005822-084b"
AUDIT, INTERRUPTED = "20261201-005828-783f", "20261201-005838-83c1"
ALL = (COMPLETE, MIXED, AGAIN, AUDIT, INTERRUPTED)


@pytest.fixture
def place(tmp_path):
    """All of it as it lay where it was made."""
    for name in ("data", "mine", "link"):
        shutil.copytree(KEPT / name, tmp_path / name, symlinks=True)
    shutil.copytree(KEPT / "jobs", tmp_path / "runs")
    for path in (tmp_path / "runs").glob("*/*.json"):
        text = path.read_text()
        path.write_text(text.replace("/place/jobs", f"{tmp_path}/runs").replace("/place", str(tmp_path)))
    return tmp_path


@pytest.mark.parametrize("job_id", ALL)
def test_it_is_read_whole(place, job_id):
    job = read_job(JobFolder(place / "runs" / job_id))
    assert (job.damaged, job.history.broken, job.record.kind) == ((), None, "score")
    assert job.record.asked.kind == "score"
    digests = job.record.tasks["count-words"].digests
    assert sorted(digests) == ["code", "gold", "run", "spec"]
    assert job.record.plan.fingerprint is None


@pytest.mark.parametrize("kind", ["junit", "json", "md", "csv", "html"])
def test_every_report_shows_pass_fail_and_error(place, kind):
    shown = api.report(MIXED, kind, out=place / "runs").decode().lower()
    assert all(word in shown for word in ("solution", "empty", "link", "fail", "error"))
    assert api.report(INTERRUPTED, kind, out=place / "runs")
    assert api.report(AUDIT, kind, out=place / "runs")


def test_two_of_them_are_compared(place):
    found = api.compare(COMPLETE, AGAIN, out=place / "runs")
    assert (found.comparable, found.n_pairs, found.changes) == (True, 4, ())
    assert found.figures.difference == 0


def test_one_of_them_is_compared_with_a_job_of_today(place):
    words = (f"mine={place}/mine", "solution")
    now = run(place, load_dataset(place / "data"), Archiving(), submissions=words, repeat=2)
    found = api.compare(COMPLETE, now.job_id, out=place / "runs")
    assert found.n_pairs == 4


def test_the_log_of_an_attempt_is_found(place):
    wanted = api.Wanted(task="count-words", submission="empty")
    (log,) = api.logs(MIXED, wanted, out=place / "runs")
    assert (log.path, log.size) == ("logs/evaluator.log", 0)


def scored_again(place, chosen, script):
    names = ("tasks", "repeat", "parent", "changed")
    return run(place, chosen.dataset, script, **{name: getattr(chosen.asked, name) for name in names})


@pytest.mark.parametrize("job_id", ALL)
def test_what_it_archived_is_scored_again(place, job_id):
    chosen = asked_again(job_id, ScoreAsked(), place / "runs")
    script = Archiving()
    outcome = scored_again(place, chosen, script)
    before = read_job(JobFolder(place / "runs" / job_id))
    assert outcome.status == "complete"
    assert sorted(script.keys) == sorted(str(one.key) for one in before.attempts)
    record = json.loads((outcome.folder / "job.json").read_bytes())
    assert (record["format"], record["kind"], record["parent"]["job_id"]) == (FORMAT, "score", job_id)


def test_with_changed_only_what_this_release_scores_otherwise_is_scored(place):
    chosen = asked_again(COMPLETE, ScoreAsked(changed=True), place / "runs")
    script = Archiving()
    outcome = scored_again(place, chosen, script)
    was = read_job(JobFolder(place / "runs" / COMPLETE)).attempts[0].result.digests.scoring
    assert outcome.summary["done"] == 4
    assert bool(script.keys) == (was.sdk != Tools.read().tools.digest)


def test_an_interrupted_one_is_refused_before_anything_is_scored_by_another_runner(place):
    script = Script()
    with pytest.raises(UsageError, match=r"its 1 finished attempts .* another scorehost \(0\.1\.0\)"):
        run(place, load_dataset(place / "data"), script, resume=INTERRUPTED)
    assert script.keys == []
    assert len(read_job(JobFolder(place / "runs" / INTERRUPTED)).attempts) == 1


def test_an_interrupted_one_goes_on_under_its_own_runner_and_its_record_stays(place, monkeypatch):
    (attempt,) = read_job(JobFolder(place / "runs" / INTERRUPTED)).attempts
    runner = SimpleNamespace(tools=SimpleNamespace(digest=attempt.result.digests.scoring.sdk))
    monkeypatch.setattr(Tools, "read", lambda: runner)
    folder = place / "runs" / INTERRUPTED
    record = (folder / "job.json").read_bytes()
    first = (folder / "attempts/count-words/solution/1.1/result.json").read_bytes()
    script = Script()
    outcome = run(place, load_dataset(place / "data"), script, resume=INTERRUPTED)
    assert script.keys == [f"count-words/solution/1.{number}" for number in range(2, 9)]
    assert outcome.status == "complete"
    assert (folder / "job.json").read_bytes() == record
    assert (folder / "attempts/count-words/solution/1.1/result.json").read_bytes() == first


@pytest.mark.parametrize("job_id", [COMPLETE, MIXED, AGAIN])
def test_a_complete_one_that_is_resumed_scores_nothing(place, job_id):
    script = Script()
    dataset = load_dataset(place / "data")
    assert run(place, dataset, script, resume=job_id).status == "complete"
    assert script.keys == []


def test_an_error_of_it_is_run_again(place):
    script = Script()
    run(place, load_dataset(place / "data"), script, resume=MIXED, rerun="error")
    assert script.keys == ["count-words/link/1.1"]


def test_what_changed_since_is_told_as_ever(place):
    (place / "data/tasks/count-words/evaluator.py").write_text("def evaluate(inputs): ...\n")
    with pytest.raises(UsageError, match=r"count-words: evaluator\.py, lib/ or shared/"):
        run(place, load_dataset(place / "data"), resume=INTERRUPTED)


def test_an_audit_of_it_is_told_again(place):
    _, asked, running = resolved(None, Running(out=place / "runs", resume=AUDIT))
    assert asked.staged.parent == place / "runs/audits"
    assert (asked.name, running.resume) == ("audit", str(place / "runs" / AUDIT))
