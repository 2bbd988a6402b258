"""Reports of a job: read back by other readers, nothing private unless asked, nothing that acts."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from archived import Archiving, hand_in
from junitparser import Error, Failure, JUnitXml
from scripted_jobs import make_dataset, make_task, run

from scorehost.report.content import report_content
from scorehost.report.csv_table import csv_report
from scorehost.report.document import json_report
from scorehost.report.html import html_report
from scorehost.report.junit import clean, junit_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job

WRITERS = [junit_report, json_report, markdown_report, csv_report, html_report]
SECRET = "GOLD-IS-17"  # noqa: S105 - what a gold set might hold
NASTY = "<script>alert(1)</script> | \x1b[31m\u202e =1+1"
CHECKS = [
    {"id": "ok", "status": "PASS"},
    {"id": "hidden", "status": "FAIL", "title": SECRET, "message": SECRET, "details": {"want": SECRET}},
    {"id": "seen", "status": "FAIL", "visibility": "public", "message": NASTY},
]


def verdict(order, _files):
    if order.key.task_id == "fails":
        metrics = {"rmse": -0.25, "secret": SECRET}
        return {"status": "FAIL", "score": 0.125, "checks": CHECKS, "metrics": metrics}
    if order.key.task_id == "breaks":
        return {"kind": "host_lost"}
    return {"metrics": {"rmse": 0.5}}


@pytest.fixture
def outcome(tmp_path):
    tasks = [
        make_task(tmp_path, name, tags=("t",), metrics=(("rmse", "mean"),))
        for name in ("breaks", "fails", "passes")
    ]
    word = hand_in(tmp_path, "one", breaks="1", fails="1", passes="1")
    return run(tmp_path, make_dataset(tmp_path, *tasks), Archiving(verdict), submissions=(word,))


def content(outcome, *, private=False):
    return report_content(read_job(JobFolder(outcome.folder)), private=private)


def read_junit(data):
    return JUnitXml.fromstring(data)


def test_junit_is_read_by_another_library_with_failure_and_error_apart(outcome):
    (suite,) = read_junit(junit_report(content(outcome)))
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == ("one", 3, 1, 1, 0)
    cases = {case.name: case for case in suite}
    assert cases["passes 1.1"].is_passed
    (failed,) = cases["fails 1.1"].result
    (broken,) = cases["breaks 1.1"].result
    assert isinstance(failed, Failure)
    assert isinstance(broken, Error)
    assert (failed.message, failed.type) == ("hidden", "FAIL")
    assert (broken.message, broken.type) == ("host_lost: host_lost happened", "host_lost")
    assert "blame environment" in broken.text
    assert cases["fails 1.1"].classname == "demo.one"
    assert cases["passes 1.1"].time == 1.5


def test_junit_carries_properties_of_suites_and_cases(outcome):
    (suite,) = read_junit(junit_report(content(outcome)))
    of_suite = {one.name: one.value for one in suite.properties()}
    assert (of_suite["job"], of_suite["dataset"]) == (outcome.job_id, "demo 1")
    # 1 and 0.125; the lost host is left out of the mean and counts 0 and 1 in the bounds
    assert (of_suite["mean_score"], of_suite["n"]) == ("0.5625", "2")
    assert of_suite["bounds"] == "0.375 to 0.7083"
    (case,) = [case for case in suite if case.name == "fails 1.1"]
    holder = case._elem.find("properties")
    found = {one.get("name"): one.get("value") for one in holder}
    assert found == {"score": "0.125", "metric.rmse": "-0.25"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\x1bc\x7f", r"a\x00b\x1bc\x7f"),
        ("\u202e\u2028", r"\u202e\u2028"),
        ("\ud800\ufffe\U000e0001", r"\ud800\ufffe\U000e0001"),
        ("line\n\ttab", "line\n\ttab"),
        ("ä漢😀", "ä漢😀"),
    ],
)
def test_what_xml_cannot_hold_comes_out_escaped(text, cleaned):
    assert clean(text) == cleaned


def test_a_job_that_is_not_whole_is_no_green_suite(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))

    def broken(order, _files):
        if order.key.task_id == "b":
            raise RuntimeError
        return {}

    outcome = run(tmp_path, dataset, Archiving(broken), submissions=("empty",))
    suites = {suite.name: suite for suite in read_junit(junit_report(content(outcome)))}
    assert (suites["empty"].errors, suites["scorehost"].errors) == (0, 1)
    (case,) = suites["scorehost"]
    assert case.result[0].message == "the job is incomplete: 1 of 2 attempts"


@pytest.mark.parametrize("writer", WRITERS)
def test_free_text_of_private_checks_and_other_metrics_stay_out(outcome, writer):
    assert SECRET.encode() not in writer(content(outcome))


@pytest.mark.parametrize("writer", [junit_report, json_report, html_report])
def test_private_lets_them_in(outcome, writer):
    assert SECRET.encode() in writer(content(outcome, private=True))


@pytest.mark.parametrize("writer", WRITERS)
def test_no_report_holds_a_control_or_bidi_character(outcome, writer):
    text = writer(content(outcome, private=True)).decode()
    assert [char for char in text if not char.isprintable() and char not in "\r\n\t"] == []


def test_each_reason_is_in_a_line(outcome):
    lines = markdown_report(content(outcome)).decode().splitlines()
    (line,) = [line for line in lines if line.startswith("| breaks | one |")]
    assert line.endswith(r"| host\_lost: host\_lost happened |")


def test_json_has_every_attempt_with_public_text_only(outcome):
    document = json.loads(json_report(content(outcome)))
    (failed,) = [one for one in document["attempts"] if one["task_id"] == "fails"]
    assert failed["checks"] == [
        {"id": "ok", "status": "PASS"},
        {"id": "hidden", "status": "FAIL"},
        {"id": "seen", "status": "FAIL", "message": NASTY},
    ]
    assert failed["metrics"] == {"rmse": -0.25}
    assert document["summary"]["counts"] == {"PASS": 1, "FAIL": 1, "ERROR": 1}


def table(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_csv_keeps_numbers_as_numbers(outcome):
    rows = {row["task_id"]: row for row in table(csv_report(content(outcome)))}
    assert (rows["fails"]["score"], rows["fails"]["metric.rmse"]) == ("0.125", "-0.25")
    assert (rows["breaks"]["score"], rows["breaks"]["error_blame"]) == ("", "environment")


def test_csv_tells_the_seconds_of_each_phase(outcome):
    assert {row["seconds.evaluate"] for row in table(csv_report(content(outcome)))} == {"1.0"}


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "=cmd|' /C calc'!A0", "\uff1d1", "'=1"]
)
def test_csv_text_is_never_a_formula(tmp_path, text):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"))
    checks = [{"id": text.strip() or "x", "status": "FAIL", "visibility": "public"}]
    script = Archiving(lambda _order, _files: {"status": "FAIL", "checks": checks})
    outcome = run(tmp_path, dataset, script, submissions=("empty",))
    (row,) = table(csv_report(content(outcome)))
    assert row["reason"] == "'" + text.strip()


class Reader(HTMLParser):
    """Every tag with its attributes, and all text."""

    def __init__(self):
        super().__init__()
        self.tags = []
        self.text = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def read_html(data):
    reader = Reader()
    reader.feed(data.decode())
    reader.close()
    return reader


def test_html_loads_and_runs_nothing(outcome):
    page = read_html(html_report(content(outcome, private=True)))
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base", "image"}
    loading = {"src", "href", "style", "srcset", "action", "xlink:href", "background"}
    for _tag, attributes in page.tags:
        assert not loading & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]


def test_html_has_a_policy_that_lets_in_its_own_style_only(outcome):
    page = read_html(html_report(content(outcome)))
    (policy,) = [
        attributes["content"]
        for tag, attributes in page.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'",
        policy,
    )


def test_html_shows_what_others_wrote_as_text(outcome):
    page = read_html(html_report(content(outcome)))
    assert any("<script>alert(1)</script> | \\x1b[31m\\u202e =1+1" in text for text in page.text)


def test_html_has_the_tables_and_charts_of_the_job(outcome):
    page = read_html(html_report(content(outcome)))
    assert [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"] == [
        "Verdicts",
        "Mean score by submission, with bounds",
        "Mean score by task, with bounds",
        "Mean score by tag, with bounds",
    ]
    assert "1 PASS, 1 FAIL, 1 ERROR of 3" in page.text
    assert (
        sum(tag == "table" for tag, _ in page.tags) == 8
    )  # facts, 3 groups, metrics, errors, warnings, attempts


@pytest.mark.parametrize("writer", WRITERS)
def test_a_job_that_was_killed_has_a_report_without_figures(outcome, writer):
    (outcome.folder / "summary.json").unlink()
    found = content(outcome)
    assert found.status == "interrupted"
    assert b"fails" in writer(found)


def test_a_report_names_the_parent_and_what_was_carried_over(tmp_path, outcome):
    tasks = [
        make_task(tmp_path, name, tags=("t",), metrics=(("rmse", "mean"),))
        for name in ("breaks", "fails", "passes")
    ]
    again = run(
        tmp_path, make_dataset(tmp_path, *tasks), Archiving(verdict), parent=outcome.folder, changed=True
    )
    text = markdown_report(content(again)).decode()
    assert f"- scored again from: {outcome.job_id}" in text
    assert f"(carried over from {outcome.job_id})" in text
