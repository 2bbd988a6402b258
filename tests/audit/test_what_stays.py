"""What an audit leaves behind: its job, and what it staged only as long as something needs it."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import anyio
import pytest
from archived import Archiving
from scripted_jobs import Script, make_dataset, make_task, run

from scorehost.api.running import resolved
from scorehost.audit import staging
from scorehost.audit.asking import with_made_up
from scorehost.audit.report import report_of, told_before
from scorehost.errors import UsageError
from scorehost.jobs.running import Running
from scorehost.model.failure import Phase
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose

FAIL = {"status": "FAIL"}
RIGHT = b"41\n17\n"


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = make_task(tmp_path, "t")
    (task.solution / "artifacts").mkdir(parents=True)
    (task.solution / "artifacts" / "answer.txt").write_bytes(RIGHT)
    return make_dataset(tmp_path, task)


def sound(_order, files):
    return {} if files.get("answer") == RIGHT else FAIL


def made_up(dataset, *, attacks=False, **asked):
    chosen = choose(ScoreAsked(dataset=dataset.root, **asked), dataset)
    return with_made_up(chosen, dataset.root / "runs", attacks=attacks)


def audited(dataset, verdict, **changes):
    chosen = made_up(dataset, attacks=True)
    asked = chosen.asked
    outcome = run(
        dataset.root,
        dataset,
        Archiving(verdict),
        submissions=asked.submissions,
        staged=asked.staged,
        **changes,
    )
    return report_of(outcome, chosen, seconds=1.0), asked


def test_of_a_finished_audit_one_folder_stays(dataset):
    report, asked = audited(dataset, sound)
    assert report.exit_status == 0
    assert not asked.staged.exists()
    assert not (dataset.root / "runs" / "audits").exists()


def test_the_command_of_a_finding_scores_the_very_bytes_that_passed_from_the_jobs_archive(dataset):
    report, _asked = audited(dataset, lambda _order, files: {} if "answer" in files else FAIL)
    assert report.exit_status == 1
    (found,) = (one for one in report.findings if one.submission == "empty-file")
    archived = f"runs/{report.job_id}/attempts/t/empty-file/1.1"
    assert found.command == f"scorehost score tasks/t {archived}"
    assert (dataset.root / archived / "artifacts" / "answer.txt").read_bytes() == b""
    assert not (dataset.root / "runs" / "audits").exists()


def test_what_was_staged_stays_while_the_machinery_left_something_unscored(dataset):
    def broken(order, files):
        if order.key.submission == "mutant-1":
            return {"kind": "host_lost", "phase": Phase.EVALUATE}
        return sound(order, files)

    report, asked = audited(dataset, broken)
    assert report.exit_status == 0  # a mutant that was not scored is nobody's defect
    assert report.mutants == audited(dataset, sound)[0].mutants - 1  # nor one that did not survive
    report, asked = audited(
        dataset,
        lambda order, files: (
            {"kind": "host_lost"} if order.key.submission == "empty" else sound(order, files)
        ),
    )
    assert report.exit_status == 3
    assert (asked.staged / "kit.json").is_file()


def test_a_finished_audit_that_is_taken_up_again_tells_its_report_and_scores_nothing(dataset):
    report, _asked = audited(dataset, sound)
    _, again, running = resolved(None, Running(out=dataset.root / "runs", resume=report.job_id))
    assert told_before(again, Path(running.resume)) == report
    with pytest.raises(UsageError, match="What the audit handed in is not in"):
        run(dataset.root, dataset, Archiving(sound), resume=report.job_id)


def with_clock(dataset, score, **changes):
    """The report of an audit whose second job, with the clock moved, was scored by `score`."""
    chosen = made_up(dataset)
    asked = chosen.asked
    words = {"submissions": asked.submissions, "staged": asked.staged}
    outcome = run(dataset.root, dataset, Archiving(sound), **words)
    changes |= {"submissions": ("solution",), "out": outcome.folder / "clock"}
    moved = run(dataset.root, dataset, score, **changes)
    return report_of(outcome, chosen, moved=moved, seconds=1.0), asked


def test_an_audit_whose_second_job_is_broken_off_has_not_come_to_its_end(dataset):
    stop = anyio.Event()
    stop.set()
    report, asked = with_clock(dataset, Script(), stop=stop)
    assert (report.complete, report.exit_status, report.findings) == (False, 130, ())
    assert (asked.staged / "kit.json").is_file()


def test_a_moved_clock_that_the_machinery_kept_from_being_scored_is_an_error_and_no_sound_end(dataset):
    lost = {"kind": "host_lost", "phase": Phase.EVALUATE}
    report, _asked = with_clock(dataset, Archiving(lambda _order, _files: lost), retry_errors=0)
    assert report.exit_status == 3
    assert [(one.level, one.kind) for one in report.findings] == [("error", "not-scored")]
    assert "17 days and 11 hours ahead" in report.findings[0].text


def test_a_verdict_of_the_clock_is_shown_again_by_an_audit_of_its_task(dataset):
    report, _asked = with_clock(dataset, Archiving(lambda _order, _files: FAIL))
    (found,) = report.findings
    assert (found.kind, found.command) == ("clock-decides", "scorehost audit . --task t")
    assert report.exit_status == 1


def test_repeats_that_differ_are_shown_again_by_a_run_with_as_many_repeats(dataset):
    scores = iter((0.25, 0.75))

    def moody(order, files):
        return {"score": next(scores)} if order.key.submission == "solution" else sound(order, files)

    chosen = made_up(dataset, repeat=2)
    asked = chosen.asked
    outcome = run(
        dataset.root, dataset, Archiving(moody), submissions=asked.submissions, staged=asked.staged, repeat=2
    )
    report = report_of(outcome, chosen, seconds=1.0)
    (found,) = (one for one in report.findings if one.level == "defect")
    assert found.command == "scorehost run . --task t --submission solution --repeat 2"


@pytest.mark.parametrize(
    ("extra", "words"), [("gold", ["--gold", "other"]), ("profiles", ["--profiles", "other"])]
)
def test_a_command_names_private_gold_and_other_profiles(dataset, extra, words):
    place = dataset.root / "other"
    chosen = made_up(dataset, attacks=True, **{extra: place})
    asked = chosen.asked
    outcome = run(dataset.root, dataset, Archiving(), submissions=asked.submissions, staged=asked.staged)
    report = report_of(outcome, chosen, seconds=1.0)
    (found,) = (one for one in report.findings if one.submission == "empty-file")
    archived = f"runs/{report.job_id}/attempts/t/empty-file/1.1"
    line = ["scorehost", "run", ".", "--task", "t", "--submission", f"empty-file={archived}", *words]
    assert shlex.split(found.command) == line


@pytest.mark.parametrize(("hours", "stays"), [(1, True), (25, False)])
def test_what_a_deleted_audit_staged_goes_with_the_next_audit_once_it_is_a_day_old(dataset, hours, stays):
    orphan = dataset.root / "runs" / "audits" / "20261129-000000-0000"
    orphan.mkdir(parents=True)
    then = time.time() - hours * 3600
    os.utime(orphan, (then, then))
    audited(dataset, sound)
    assert orphan.exists() == stays


@pytest.mark.parametrize("record", ["named", "torn"])
def test_what_an_audit_staged_that_may_go_on_never_goes_with_another(dataset, record):
    place = dataset.root / "runs" / "audits" / "20261129-000000-0000"
    place.mkdir(parents=True)
    os.utime(place, (0, 0))
    job = dataset.root / "runs" / "20261129-000001-0000"
    job.mkdir()
    text = json.dumps({"asked": {"staged": str(place)}}) if record == "named" else "{"
    (job / "job.json").write_text(text)
    audited(dataset, sound)
    assert place.exists()


@pytest.mark.parametrize(("place_ends", "job_ends"), [("0000", "ffff"), ("ffff", "0000")])
def test_a_place_stays_for_the_job_that_names_it_also_when_both_were_made_in_one_second(
    dataset, monkeypatch, place_ends, job_ends
):
    out = dataset.root / "runs"
    monkeypatch.setattr(staging, "new_job_id", lambda: f"20261201-012500-{place_ends}")
    with staging.staging_place(out) as place:
        job = out / f"20261201-012500-{job_ends}"
        job.mkdir()
        (job / "job.json").write_text(json.dumps({"asked": {"staged": str(place)}}))
    assert place.is_dir()


def test_a_place_that_its_audit_took_away_is_no_error_at_the_end(dataset):
    with staging.staging_place(dataset.root / "runs") as place:
        staging.remove_staged(place)
    assert not place.exists()
