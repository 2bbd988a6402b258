"""Files of a job itself that are gone, cut or exchanged: a reader says which, and no report is sound."""

from __future__ import annotations

import json

import pytest
from archived import Archiving
from junitparser import JUnitXml
from scripted_jobs import run, some_tasks

from scorehost.compare.comparison import compare_jobs
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.report.content import report_content
from scorehost.report.document import json_report
from scorehost.report.junit import junit_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import line_hash
from scorehost.runs.reading import read_job


@pytest.fixture
def folder(tmp_path):
    return run(tmp_path, some_tasks(tmp_path, "a", "b"), Archiving(), submissions=("empty",)).folder


def lines(folder):
    return (folder / "events.jsonl").read_bytes().splitlines(keepends=True)


def emptied(folder):
    (folder / "events.jsonl").write_bytes(b"")


def gone(folder):
    (folder / "events.jsonl").unlink()


def without_its_end(folder):
    (folder / "events.jsonl").write_bytes(b"".join(lines(folder)[:-1]))


def without_the_second_attempt(folder):
    kept = [line for line in lines(folder) if b'"key":"b/' not in line]
    (folder / "events.jsonl").write_bytes(b"".join(kept))


def torn(folder):
    whole = lines(folder)
    (folder / "events.jsonl").write_bytes(b"".join(whole) + b'{"at":')


def first_line_gone(folder):
    (folder / "events.jsonl").write_bytes(b"".join(lines(folder)[1:]))


def other_summary(folder):
    path = folder / "summary.json"
    path.write_bytes(path.read_bytes().replace(b'"mean_score": 1.0', b'"mean_score": 0.5'))


def no_summary(folder):
    (folder / "summary.json").unlink()


def other_record(folder):
    path = folder / "job.json"
    path.write_bytes(path.read_bytes() + b"\n")


def no_manifest(folder):
    (folder / "attempts/a/empty/1.1/manifest.json").unlink()


def gone_on(folder):
    """As a later sitting leaves it that was killed."""
    last = line_hash(lines(folder)[-1].removesuffix(b"\n"))
    job = json.loads(lines(folder)[0])["job"]
    event = {"at": "2026-12-01T00:00:00.000Z", "done": 2, "job": job, "kind": "job_started", "prev": last}
    with (folder / "events.jsonl").open("ab") as stream:
        stream.write(json.dumps(event, sort_keys=True).encode() + b"\n")


CASES = [
    (emptied, "events.jsonl is empty, so nothing shows that attempts and figures are those of this job"),
    (gone, "events.jsonl is gone, so nothing shows that attempts and figures are those of this job"),
    (without_its_end, "events.jsonl does not tell of the job's end, which summary.json sums up"),
    (without_the_second_attempt, "1 attempt has no line in events.jsonl, such as b/empty/1.1"),
    (torn, "events.jsonl ends in half a line (6 bytes)"),
    (first_line_gone, "line 1 of events.jsonl does not follow the line before it"),
    (other_summary, "summary.json is not the file that events.jsonl tells of"),
    (no_summary, "summary.json is gone, though events.jsonl says that the job ended"),
    (other_record, "job.json is not the file that events.jsonl tells of"),
    (
        no_manifest,
        "1 attempt has no manifest.json, or one that events.jsonl does not tell of, such as a/empty/1.1",
    ),
    (gone_on, "the job went on after summary.json was written, and that was broken off"),
]


def test_a_job_that_ended_has_none(folder):
    job = read_job(JobFolder(folder))
    assert job.faults == ()
    assert report_content(job).sound


@pytest.mark.parametrize(("harm", "said"), CASES, ids=[harm.__name__ for harm, _ in CASES])
def test_a_file_that_is_gone_cut_or_another_is_told_in_reports_and_leaves_no_green_suite(folder, harm, said):
    harm(folder)
    job = read_job(JobFolder(folder))
    assert said in job.faults
    report = report_content(job)
    assert not report.sound
    assert said in markdown_report(report).decode().replace("\\", "")
    assert said in json.loads(json_report(report))["faults"]
    (unsound,) = [suite for suite in JUnitXml.fromstring(junit_report(report)) if suite.name == "scorehost"]
    (case,) = unsound
    assert said in case.result[0].text


def test_a_comparison_names_what_is_wrong_with_either_side(folder):
    whole = read_job(JobFolder(folder))
    emptied(folder)
    damaged = read_job(JobFolder(folder))
    found = compare_jobs(whole, damaged, must_agree=scoring_differences)
    assert any(note.startswith("B: events.jsonl is empty") for note in found.notes)


def test_a_job_without_a_summary_for_want_of_the_file_says_so_and_not_that_it_never_ended(folder):
    no_summary(folder)
    report = report_content(read_job(JobFolder(folder)))
    assert report.without_summary == (
        "There is no summary: summary.json is gone, though events.jsonl says that the job ended."
    )
