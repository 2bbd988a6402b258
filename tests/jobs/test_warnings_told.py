"""What a job left out, ignored or took instead is told at its end, in summary.json and in every report."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from archived import Archiving
from scripted_jobs import Script, make_dataset, make_task, run, some_tasks

from scorehost.model.metrics import unusable_words
from scorehost.model.spelling import some
from scorehost.report.content import report_content
from scorehost.report.csv_table import csv_report
from scorehost.report.document import json_report
from scorehost.report.html import html_report
from scorehost.report.junit import junit_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.runs.warned import HELD, LISTED, WarningTally

WRITERS = [junit_report, json_report, markdown_report, csv_report, html_report]
SAID = "a row was left out"


def content(outcome, *, private=False):
    return report_content(read_job(JobFolder(outcome.folder)), private=private)


def summary(outcome):
    return json.loads((outcome.folder / "summary.json").read_bytes())


def test_equal_warnings_of_attempts_are_one_with_their_number_and_the_first_of_them(tmp_path):
    script = Script(lambda order: {"warnings": [SAID, SAID] if order.key.task_id != "c" else ["other"]})
    outcome = run(tmp_path, some_tasks(tmp_path, *"abcde"), script, submissions=("solution",))
    assert summary(outcome)["warnings"] == [
        {
            "text": SAID,
            "count": 4,
            "attempts": ["a/solution/1.1", "b/solution/1.1", "d/solution/1.1"],
        },
        {"text": "other", "count": 1, "attempts": ["c/solution/1.1"]},
    ]
    assert summary(outcome)["warnings_left_out"] == 0
    assert [(one.text, one.count) for one in outcome.warnings] == [(SAID, 4), ("other", 1)]
    assert {row.warnings for row in outcome.rows} == {1, 2}


def test_a_warning_of_the_job_stands_before_those_of_attempts_and_once_however_often_it_goes_on(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b")
    hand_in = tmp_path / "one"
    (hand_in / "a" / "artifacts").mkdir(parents=True)
    script = Script(lambda _order: {"warnings": [SAID]})
    outcome = run(tmp_path, dataset, script, submissions=(str(hand_in),))
    first = [one.text for one in outcome.warnings if not one.attempts]
    assert any("nothing for 1 of 2 tasks, such as b" in text for text in first)
    assert outcome.warnings[-1].text == SAID
    again = run(tmp_path, dataset, script, resume="latest")
    assert again.warnings == outcome.warnings


def test_of_a_try_that_was_made_again_only_that_is_told(tmp_path):
    dataset = some_tasks(tmp_path, "a")

    def verdict(order):
        if order.number == 1:
            return {"kind": "engine_lost", "warnings": ["of the first try", SAID]}
        return {"warnings": [SAID]}

    outcome = run(tmp_path, dataset, Script(verdict), submissions=("solution",), retry_errors=1)
    again = "made again: this is try 2, earlier ones are in tries/"
    told = [(SAID, 1), (again, 1)]
    assert [(one.text, one.count) for one in outcome.warnings] == told
    resumed = run(tmp_path, dataset, Script(verdict), resume="latest")
    assert [(one.text, one.count) for one in resumed.warnings] == told


@pytest.mark.parametrize("writer", WRITERS)
def test_every_report_tells_them_also_of_a_job_without_a_summary(tmp_path, writer):
    script = Archiving(lambda _order, _files: {"warnings": [SAID]})
    outcome = run(tmp_path, some_tasks(tmp_path, "a", "b"), script, submissions=("empty",))
    assert SAID.encode() in writer(content(outcome))
    (outcome.folder / "summary.json").unlink()
    assert SAID.encode() in writer(content(outcome))


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_warning_holds_acts_on_no_reader(tmp_path, writer):
    nasty = "<script>alert(1)</script>\x1b[31m\u202e"
    script = Archiving(lambda _order, _files: {"warnings": [nasty]})
    text = writer(content(run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("empty",)))).decode()
    assert [char for char in text if not char.isprintable() and char not in "\r\n\t"] == []
    assert writer in (json_report, csv_report) or "<script>" not in text


def test_a_tally_of_many_different_warnings_is_bounded_and_counts_what_it_does_not_list():
    tally = WarningTally()
    for number in range(HELD + 500):
        tally.of_attempt(f"t/s/{number}.1", [f"warning {number:05}"])
    told = tally.told()
    assert (len(told.warnings), len(tally.said)) == (LISTED, HELD)
    assert told.warnings_left_out == HELD + 500 - LISTED


def test_a_long_warning_is_cut_and_says_by_how_much():
    tally = WarningTally()
    tally.of_job("x" * 700)
    assert tally.told().warnings[0].text == "x" * 500 + "… (200 more characters)"


def test_a_declared_metric_that_is_no_number_is_told_by_what_it_is_beside_its_n(tmp_path):
    values = {"a": True, "b": "0.5", "c": None, "d": 10**400, "e": [1], "f": {}, "g": 0.5}
    metrics = (("m", "mean"),)
    dataset = make_dataset(tmp_path, *(make_task(tmp_path, name, metrics=metrics) for name in "abcdefgh"))

    def verdict(order):
        name = order.key.task_id
        return {"metrics": {"m": values[name]} if name in values else {}}

    outcome = run(tmp_path, dataset, Script(verdict), submissions=("solution",))
    (row,) = summary(outcome)["metrics"]
    assert (row["value"], row["n"]) == (0.5, 1)
    assert row["left_out"] == {
        "a list": 1,
        "a number too large": 1,
        "an object": 1,
        "missing": 1,
        "null": 1,
        "text": 1,
        "true or false": 1,
    }
    assert unusable_words({"m": "text"}) == ("the declared metric m is text, so no figure counts it",)
    assert b"1 a list, 1 a number too large" in markdown_report(content(outcome))


def test_an_error_has_no_metrics_and_none_are_missed(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", metrics=(("m", "mean"),)))
    outcome = run(tmp_path, dataset, Script(lambda _o: {"kind": "host_lost"}), submissions=("solution",))
    assert summary(outcome)["metrics"][0]["left_out"] == {}


def test_a_report_of_a_result_without_such_warnings_tells_what_contradicts_itself_in_it(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", metrics=(("m", "mean"),)))
    checks = [{"id": "c", "status": "FAIL"}]
    script = Archiving(lambda _order, _files: {"status": "PASS", "score": 0.0, "checks": checks})
    (one,) = content(run(tmp_path, dataset, script, submissions=("empty",))).attempts
    assert one.warnings == (
        "PASS with the worst score there is (0); PASS though its only check failed",
        "the declared metric m is missing, so no figure counts it",
    )


def test_errors_say_how_many_of_each_kind_count_as_the_lowest_score(tmp_path):
    kinds = {"a": "engine_lost", "b": "submission_fault", "c": "submission_fault"}
    script = Script(lambda order: {"kind": kinds[order.key.task_id]} if order.key.task_id in kinds else {})
    outcome = run(tmp_path, some_tasks(tmp_path, *"abcd"), script, submissions=("solution",), retry_errors=0)
    rows = {row["kind"]: (row["count"], row["as_lowest"]) for row in summary(outcome)["errors"]}
    assert rows == {"engine_lost": (1, 0), "submission_fault": (2, 2)}


def test_each_submission_has_its_own_figures_of_a_metric_in_reports(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", metrics=(("m", "mean"),)))
    script = Script(lambda order: {"metrics": {"m": 1 if order.key.submission == "solution" else 3}})
    found = content(run(tmp_path, dataset, script, submissions=("solution", "empty")))
    lines = markdown_report(found).decode().splitlines()
    for line in ("| solution | m | mean, maximize | 1 | 1 |  |", "| empty | m | mean, maximize | 3 | 1 |  |"):
        assert line in lines
    assert "| (all) | m | mean, maximize | 2 | 2 |  |" in lines


def test_a_csv_has_a_column_for_each_declared_metric_whatever_was_returned(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", metrics=(("m", "mean"),)))
    head = csv_report(content(run(tmp_path, dataset, submissions=("solution",)))).decode().splitlines()[0]
    assert head.endswith(",metric.m")


def test_a_report_that_keeps_something_back_says_so_with_the_command_that_shows_it(tmp_path):
    hidden = [{"id": "c", "status": "FAIL", "message": "why"}]
    script = Archiving(lambda _order, _files: {"status": "FAIL", "checks": hidden})
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("empty",))
    command = f"`scorehost report {outcome.job_id} --format html --private`"
    for writer in (markdown_report, html_report, junit_report):
        text = writer(content(outcome)).decode().replace("\\", "")
        assert command in text
        assert command not in writer(content(outcome, private=True)).decode().replace("\\", "")
    open_rows = [replace(one, kept_back=False) for one in content(outcome).attempts]
    assert replace(content(outcome), attempts=tuple(open_rows)).kept_back == ""


def test_a_private_metric_of_a_megabyte_is_cut_in_junit_and_says_so(tmp_path):
    script = Archiving(lambda _order, _files: {"metrics": {"big" * 700: "x" * 1_000_000}})
    found = content(run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("empty",)), private=True)
    data = junit_report(found)
    assert len(data) < 10_000
    assert b"more characters are in the job" in data


def test_a_metric_whose_name_acts_on_a_terminal_or_a_spreadsheet_is_text_in_every_report(tmp_path):
    names = {"\x1b]0;x\x07": 1, "\u202egold": 2, "=1+1": 3}
    script = Archiving(lambda _order, _files: {"metrics": names})
    found = content(run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("empty",)), private=True)
    for writer in WRITERS:
        text = writer(found).decode()
        assert [char for char in text if not char.isprintable() and char not in "\r\n\t"] == []
    head = csv_report(found).decode().splitlines()[0].split(",")
    assert {r"metric.\x1b]0;x\x07", r"metric.\u202egold", "metric.=1+1"} <= set(head)


def test_a_journal_that_had_to_be_repaired_is_told_by_the_sitting_that_goes_on_with_it(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    folder = run(tmp_path, dataset, submissions=("solution",)).folder
    with (folder / "events.jsonl").open("ab") as stream:
        stream.write(b'{"at":')
    events = []
    run(tmp_path, dataset, resume="latest", watch=events)
    told = [event.fields["text"] for event in events if event.kind == "warning"]
    (text,) = [one for one in told if one.startswith("events.jsonl ended in half a line (6 bytes)")]
    kept = text.rpartition(" ")[2]
    assert (folder / kept).read_bytes() == b'{"at":'


@pytest.mark.parametrize(
    ("names", "words"),
    [("", ""), ("ab", "a, b"), ("abcde", "a, b, c, d, e"), ("abcdefg", "a, b, c, d, e and 2 more")],
)
def test_the_first_of_many_names_are_told_with_the_number_of_others(names, words):
    assert some(list(names)) == words


def test_a_markdown_report_of_many_attempts_fits_into_a_comment_and_says_what_it_lacks(tmp_path):
    dataset = make_dataset(tmp_path, *(make_task(tmp_path, f"task-{n:03}", tags=("t",)) for n in range(150)))
    script = Script(
        lambda order: (
            {"status": "FAIL"} if order.key.task_id == "task-149" else {"warnings": [order.key.task_id]}
        )
    )
    outcome = run(tmp_path, dataset, script, submissions=("solution",), repeat=6)
    data = markdown_report(content(outcome))
    assert len(data) < 60_000
    lines = data.decode().splitlines()
    first = lines[lines.index("## Attempts") + 4]
    assert first.startswith("| task-149 | solution | 1.1 | FAIL |")
    shown = sum(line.startswith("| task-") and "| solution |" in line for line in lines)
    rest = f"`scorehost report {outcome.job_id} --format html` has all"
    assert f"… and {900 - shown} more rows; {rest}" in lines


def test_a_csv_names_a_submission_by_its_label_where_its_name_was_derived(tmp_path):
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), submissions=("empty",))
    named = replace(content(outcome), labels={"empty": "=M\u00fcller, Anna"})
    head, row = csv.reader(io.StringIO(csv_report(named).decode(), newline=""))
    assert dict(zip(head, row, strict=True))["submission_label"] == "'=M\u00fcller, Anna"
