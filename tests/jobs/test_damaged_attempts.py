"""Figures that rest on damaged attempts are never shown without a word beside them."""

import json

import pytest
from scripted_jobs import Script, run, some_tasks

from scorehost.compare.comparison import compare_jobs
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.errors import UsageError
from scorehost.report.content import report_content
from scorehost.report.document import json_report
from scorehost.report.html import html_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job

SAID = "Do not rely on these figures: 1 attempt of the job is damaged."


@pytest.fixture
def damaged(tmp_path):
    folder = run(tmp_path, some_tasks(tmp_path, "a"), Script(lambda _: {}), submissions=("solution",)).folder
    result = folder / "attempts/a/solution/1.1/result.json"
    result.chmod(0o600)
    result.write_text("{")
    return read_job(JobFolder(folder))


def test_every_table_of_figures_says_that_an_attempt_is_damaged(damaged):
    report = report_content(damaged)
    for text in (markdown_report(report).decode(), html_report(report).decode()):
        for part in text.split("By ")[1:]:
            assert SAID in part
    assert json.loads(json_report(report))["caution"] == SAID


def test_a_compare_with_nothing_but_damage_names_the_damage(damaged):
    with pytest.raises(UsageError) as raised:
        compare_jobs(damaged, damaged, must_agree=scoring_differences)
    assert "a/solution/1.1: result.json does not parse" in raised.value.hint


def test_a_result_of_a_later_format_is_named_by_its_format(damaged):
    place = damaged.folder.path / "attempts/a/solution/1.1/result.json"
    place.write_text('{"format": "scorehost.result/9"}')
    (said,) = read_job(damaged.folder).damaged
    assert "has format scorehost.result/9, which this version of scorehost does not read" in said
