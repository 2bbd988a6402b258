"""A job with damaged attempts: its report and its compare say that damage is why."""

import pytest
from scripted_jobs import Script, run, some_tasks

from scorehost.compare.comparison import compare_jobs
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.errors import UsageError
from scorehost.report.content import report_content
from scorehost.report.html import html_report
from scorehost.report.markdown import markdown_report
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job


@pytest.fixture
def damaged(tmp_path):
    folder = run(tmp_path, some_tasks(tmp_path, "a"), Script(lambda _: {}), submissions=("solution",)).folder
    result = folder / "attempts/a/solution/1.1/result.json"
    result.chmod(0o600)
    result.write_text("{")
    return read_job(JobFolder(folder))


def test_a_report_without_figures_says_that_damage_is_why(damaged):
    report = report_content(damaged)
    for text in (markdown_report(report).decode(), html_report(report).decode()):
        assert "There is no summary, since attempts are damaged." in text
        assert "never came to its end" not in text


def test_a_compare_with_nothing_but_damage_names_the_damage(damaged):
    with pytest.raises(UsageError) as raised:
        compare_jobs(damaged, damaged, must_agree=scoring_differences)
    assert "a/solution/1.1: result.json does not parse" in raised.value.hint


def test_a_result_of_a_later_format_is_named_by_its_format(damaged):
    place = damaged.folder.path / "attempts/a/solution/1.1/result.json"
    place.write_text('{"format": "scorehost.result/9"}')
    (said,) = read_job(damaged.folder).damaged
    assert "has format scorehost.result/9, which this version of scorehost does not read" in said
