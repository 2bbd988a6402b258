"""A job's folder may hold anything: reading it neither hangs nor follows links nor eats memory."""

from __future__ import annotations

import json
import os
import tracemalloc
from contextlib import contextmanager

import pytest
from archived import Archiving
from scripted_jobs import Script, run, some_tasks

from scorehost.attempt.agreement import disagreements
from scorehost.compare.comparison import compare_jobs
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.errors import UsageError
from scorehost.report.content import report_content
from scorehost.report.csv_table import csv_report
from scorehost.report.document import json_report
from scorehost.report.html import html_report
from scorehost.report.junit import junit_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.attempt_logs import Wanted, find_logs
from scorehost.runs.folder import JobFolder
from scorehost.runs.reader import BadFile, Reader, read_checks
from scorehost.runs.reading import read_job
from scorehost.scoring.rescore.archive import damage

MIB = 1024 * 1024
KEY = "a/empty/1.1"


@pytest.fixture
def dataset(tmp_path):
    return some_tasks(tmp_path, "a", "b")


@pytest.fixture
def folder(tmp_path, dataset):
    script = Archiving(
        lambda _order, _files: {
            "status": "FAIL",
            "checks": [{"id": "c", "status": "FAIL"}],
            "logs": {"evaluator.log": b"x"},
        }
    )
    return run(tmp_path, dataset, script, submissions=("empty",)).folder


def as_fifo(path):
    path.unlink()
    os.mkfifo(path)


def as_link(path):
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def as_folder(path):
    path.unlink()
    path.mkdir()


def as_two_gigabytes(path):
    os.truncate(path, 2 * 1024 * MIB)


HARMS = [
    (as_fifo, "is a FIFO"),
    (as_link, "is a link"),
    (as_folder, "is a folder"),
    (as_two_gigabytes, "has 2147483648 bytes, more than the"),
]


@contextmanager
def little_memory():
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_a_result_that_is_none_is_named_and_left_out(folder, harm, said):
    harm(folder / "attempts" / KEY / "result.json")
    with little_memory():
        job = read_job(JobFolder(folder))
    assert [str(one.key) for one in job.attempts] == ["b/empty/1.1"]
    (told,) = job.damaged
    assert told.startswith(f"{KEY}: result.json {said}")


@pytest.mark.parametrize("write", [markdown_report, html_report, junit_report])
def test_a_report_shows_no_figures_that_count_an_attempt_which_nothing_proves_any_more(folder, write):
    job_id = folder.name
    before = report_content(read_job(JobFolder(folder)))
    as_fifo(folder / "attempts" / KEY / "result.json")
    report = report_content(read_job(JobFolder(folder)))
    assert before.summary is not None
    assert (report.summary, report.sound) == (None, False)
    text = write(report)
    shown = text if isinstance(text, str) else text.decode()
    assert "The figures of this job are left out, since they count damaged attempts (1)." in shown
    assert f"scorehost run --resume {job_id}" in shown
    document = json.loads(json_report(report))
    assert (document["summary"], len(document["damaged"])) == (None, 1)


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_a_resume_scores_such_an_attempt_again_and_keeps_what_was_there(
    tmp_path, dataset, folder, harm, said
):
    harm(folder / "attempts" / KEY / "result.json")
    script = Script()
    with little_memory():
        outcome = run(tmp_path, dataset, script, resume="latest")
    assert (script.keys, outcome.status) == ([KEY], "complete")
    assert (folder / "tries" / KEY / "1").is_dir()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]
    assert any(said in str(one.get("why")) for one in events if one["kind"] == "attempt_damaged")


@pytest.mark.parametrize("step", ["a", "a/empty", KEY])
def test_a_link_on_the_way_to_an_attempt_is_refused_by_name(tmp_path, folder, step):
    place = folder / "attempts" / step
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    job = read_job(JobFolder(folder))
    assert [str(one.key) for one in job.attempts] == ["b/empty/1.1"]
    assert f"attempts/{step} is a link, not a folder" in job.damaged[0]


@pytest.mark.parametrize("name", ["job.json", "summary.json", "events.jsonl"])
@pytest.mark.parametrize(("harm", "said"), HARMS[:3])
def test_a_file_of_the_job_itself_that_is_none_is_told(folder, name, harm, said):
    harm(folder / name)
    with pytest.raises(UsageError, match=f"{name} {said}"):
        read_job(JobFolder(folder))


def test_a_line_of_the_journal_that_never_ends_is_no_journal(folder):
    with (folder / "events.jsonl").open("ab") as stream:
        stream.truncate(2 * 1024 * MIB)
    with little_memory_of(64), pytest.raises(UsageError, match="a line of more than 16777216 bytes"):
        read_job(JobFolder(folder))


@contextmanager
def little_memory_of(most):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_checks_that_are_none_are_told_as_the_reason_and_no_report_reads_them(folder, harm, said):
    harm(folder / "attempts" / KEY / "evaluation/checks.json")
    with little_memory():
        report = report_content(read_job(JobFolder(folder)), private=True)
    one, other = report.attempts
    assert (one.checks, one.reason.startswith(f"checks.json {said}")) == ((), True)
    assert (len(other.checks), other.reason) == (1, "c")
    with pytest.raises(BadFile):
        read_checks(folder / "attempts" / KEY)


def test_a_comparison_of_a_job_with_such_checks_says_so(tmp_path, dataset, folder):
    first = run(tmp_path, dataset, Archiving(), submissions=("empty",))
    as_fifo(folder / "attempts" / KEY / "evaluation/checks.json")
    told = compare_jobs(
        read_job(JobFolder(first.folder)), read_job(JobFolder(folder)), must_agree=scoring_differences
    )
    assert "checks.json is a FIFO" in str(told)


@pytest.mark.parametrize(("harm", "said"), HARMS)
def test_a_rescore_trusts_no_manifest_that_is_none(folder, harm, said):
    job = read_job(JobFolder(folder))
    harm(folder / "attempts" / KEY / "manifest.json")
    with little_memory():
        assert damage(job.attempts[0], job.history).startswith(f"manifest.json {said}")


def test_logs_do_not_follow_links_out_of_the_job(tmp_path, folder):
    (tmp_path / "secret").write_text("secret")
    place = folder / "attempts" / KEY / "logs"
    (place / "evaluator.log").unlink()
    (place / "evaluator.log").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"logs/evaluator\.log is a link"):
        find_logs(read_job(JobFolder(folder)), Wanted("a"))


def test_a_log_that_becomes_a_link_after_it_was_found_is_not_followed(tmp_path, folder):
    _, (log,) = find_logs(read_job(JobFolder(folder)), Wanted("a"))
    with log.open() as stream:
        assert stream.read() == b"x"
    as_link(folder / "attempts" / KEY / "logs/evaluator.log")
    with pytest.raises(UsageError, match="is a link"), log.open():
        pass


def test_records_of_calls_that_are_no_files_are_a_disagreement(folder):
    place = folder / "attempts" / KEY / "evaluation"
    (place / "calls/1").mkdir(parents=True)
    os.mkfifo(place / "calls/1/call.json")
    os.mkfifo(place / "observation.jsonl")
    assert disagreements(folder / "attempts" / KEY) == [
        "evaluation/calls/1/call.json is missing or is no record of a call",
        "observation.jsonl cannot be read",
    ]


def test_a_file_that_grows_while_it_is_read_is_read_as_it_was_when_it_was_opened(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"1234")
    read = os.read

    def growing(descriptor, size):
        data = read(descriptor, size)
        if data:
            with (tmp_path / "x").open("ab") as stream:
                stream.write(b"more")
        return data

    monkeypatch.setattr(os, "read", growing)
    with Reader(tmp_path) as reader:
        assert reader.data("x", 6) == b"1234"


BAD = "bell\x07 esc\x1b[31m bidi\u202e"


def test_no_report_hands_control_and_bidi_characters_on(tmp_path, dataset):
    def verdict(_order, _files):
        row = {"id": "c", "status": "FAIL", "message": BAD, "title": BAD, "visibility": "public"}
        return {"status": "FAIL", "metrics": {BAD: 1.5}, "checks": [row]}

    outcome = run(tmp_path, dataset, Archiving(verdict), submissions=("empty",))
    report = report_content(read_job(JobFolder(outcome.folder)), private=True)
    for write in (csv_report, html_report, junit_report, markdown_report):
        text = write(report).decode()
        assert not {"\x07", "\x1b", "\u202e"} & set(text), write.__name__
        assert r"\u202e" in text.replace(r"\\", "\\"), write.__name__


def test_what_a_case_of_junit_tells_is_cut(tmp_path, dataset):
    rows = [
        {"id": f"c{n}", "status": "FAIL", "message": "x" * 60_000, "visibility": "public"} for n in range(9)
    ]
    script = Archiving(lambda _order, _files: {"status": "FAIL", "checks": rows})
    outcome = run(tmp_path, dataset, script, submissions=("empty",))
    data = junit_report(report_content(read_job(JobFolder(outcome.folder))))
    assert len(data) < 40_000
    assert b"more characters are in the job" in data
