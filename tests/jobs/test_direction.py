"""Scores that are minimised, and tasks that only have a score: each figure knows which way is better."""

from __future__ import annotations

import pytest
from scripted_jobs import Script, make_dataset, make_task, run

from scorehost.attempt.binding import bind
from scorehost.compare.comparison import compare_jobs
from scorehost.errors import AttemptFailed
from scorehost.jobs.exit_status import exit_status
from scorehost.jobs.running import Running
from scorehost.model import direction as way
from scorehost.report.content import report_content
from scorehost.report.junit import junit_report
from scorehost.report.rows import ERROR_HEAD
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from scorehost.spec.task import Output

RANGE = (0.0, 10.0)


def submissions(root, *names):
    for name in names:
        (root / name).mkdir(exist_ok=True)
    return tuple(f"{name}={root / name}" for name in names)


def summary_of(tmp_path, tasks, verdict, *names, **options):
    given = submissions(tmp_path, *names)
    outcome = run(tmp_path, make_dataset(tmp_path, *tasks), Script(verdict), submissions=given, **options)
    return outcome, outcome.summary


@pytest.mark.parametrize(
    ("direction", "better", "worst", "best"),
    [("maximize", (2.0, 1.0), 0.0, 10.0), ("minimize", (1.0, 2.0), 10.0, 0.0)],
)
def test_one_place_says_what_is_better_and_which_end_is_the_worst(direction, better, worst, best):
    assert way.better(*better, direction)
    assert not way.better(*reversed(better), direction)
    assert not way.better(1.0, 1.0, direction)
    assert (way.worst_end(direction, RANGE), way.best_end(direction, RANGE)) == (worst, best)


def test_directions_that_differ_have_none_in_common():
    assert way.common(["minimize", "minimize"]) == "minimize"
    assert way.common(["minimize", "maximize"]) == "mixed"
    assert way.common([]) == "maximize"


def test_a_table_of_errors_calls_the_worse_end_by_no_direction():
    assert ERROR_HEAD == ("kind", "blame", "count", "as the worst score")


def test_a_crash_counts_as_the_highest_score_where_scores_are_minimised(tmp_path):
    task = make_task(tmp_path, "t", score_range=RANGE, direction="minimize")

    def verdict(order):
        return {"kind": "submission_fault"} if order.key.submission == "crash" else {"score": 2.0}

    _, summary = summary_of(tmp_path, [task], verdict, "crash", "honest")
    groups = summary["submissions"]
    assert (groups["crash"]["mean_score"], groups["honest"]["mean_score"]) == (10.0, 2.0)
    assert (summary["mean_score"], summary["direction"]) == (6.0, "minimize")
    assert [(row["rank"], row["submission"], row["score"]) for row in summary["ranking"]] == [
        (1, "honest", 2.0),
        (2, "crash", 10.0),
    ]


def test_an_error_of_the_machine_makes_the_upper_bound_that_ranks(tmp_path):
    task = make_task(tmp_path, "t", score_range=RANGE, direction="minimize")

    def verdict(order):
        if order.key.submission == "lucky" and order.key.repeat == 2:
            return {"kind": "engine_lost"}
        return {"score": 1.0 if order.key.submission == "lucky" else 3.0}

    _, summary = summary_of(tmp_path, [task], verdict, "lucky", "plain", repeat=2, retry_errors=0)
    assert summary["submissions"]["lucky"]["bounds"] == {"lower": 0.5, "upper": 5.5}
    assert [row["submission"] for row in summary["ranking"]] == ["plain", "lucky"]


def test_tasks_of_both_directions_have_no_mean_and_no_rank(tmp_path):
    tasks = [
        make_task(tmp_path, "loss", score_range=RANGE, direction="minimize"),
        make_task(tmp_path, "gain", score_range=RANGE),
    ]
    outcome, summary = summary_of(tmp_path, tasks, lambda _: {"score": 4.0}, "s")
    assert (summary["direction"], summary["mean_score"]) == ("mixed", None)
    assert summary["bounds"] == {"lower": None, "upper": None}
    assert summary["tasks"]["loss"]["mean_score"] == summary["tasks"]["gain"]["mean_score"] == 4.0
    assert [row["score"] for row in summary["ranking"]] == [None]
    assert outcome.exit_status == 0


def test_a_task_with_a_score_alone_is_counted_apart_and_exits_with_0(tmp_path):
    task = make_task(tmp_path, "t", verdict="none")
    outcome, summary = summary_of(tmp_path, [task], lambda _: {"status": "SCORED", "score": 0.25}, "s")
    assert outcome.exit_status == 0
    assert (summary["scored"], summary["counts"]) == (1, {"PASS": 0, "FAIL": 0, "ERROR": 0})
    assert (summary["mean_score"], summary["n"]) == (0.25, 1)
    assert (summary["pass_at_k"], summary["agreement"]) == ({}, None)
    assert outcome.rows[0].reason == ""


def test_pass_rates_are_those_of_the_tasks_that_have_verdicts(tmp_path):
    tasks = [make_task(tmp_path, "alone", verdict="none"), make_task(tmp_path, "judged")]

    def verdict(order):
        return {"status": "SCORED", "score": 0.0} if order.key.task_id == "alone" else {}

    _, summary = summary_of(tmp_path, tasks, verdict, "s")
    assert (summary["pass_at_k"], summary["mean_score"]) == ({"1": 1.0}, 0.5)


def test_fail_fast_goes_on_after_a_score(tmp_path):
    task = make_task(tmp_path, "t", verdict="none")
    outcome, _ = summary_of(
        tmp_path, [task], lambda _: {"status": "SCORED", "score": 0.0}, "a", "b", fail_fast=True
    )
    assert len(outcome.rows) == 2


@pytest.mark.parametrize(
    ("direction", "mean", "code"),
    [
        ("maximize", 0.4, 1),
        ("maximize", 0.5, 0),
        ("minimize", 0.6, 1),
        ("minimize", 0.5, 0),
        ("mixed", 0.5, 1),
    ],
)
def test_fail_under_is_about_a_mean_that_is_worse(direction, mean, code):
    told = exit_status(
        Running(fail_under=0.5),
        gate="met",
        why="done",
        status="complete",
        attempts=(),
        mean_score=mean,
        direction=direction,
    )
    assert told == code


def compared(tmp_path, task, before, after):
    folders = []
    for score in (before, after):
        outcome, _ = summary_of(tmp_path, [task], lambda _, score=score: {"score": score}, "s")
        folders.append(outcome.folder)
    jobs = [read_job(JobFolder(folder)) for folder in folders]
    return compare_jobs(*jobs, must_agree=lambda *_: (), allow_mismatch=True)


@pytest.mark.parametrize(
    ("direction", "before", "after", "fell"),
    [
        ("maximize", 2.0, 1.0, True),
        ("maximize", 1.0, 2.0, False),
        ("minimize", 2.0, 1.0, False),
        ("minimize", 1.0, 2.0, True),
        ("minimize", 1.0, 1.0 + 1e-12, False),
        ("maximize", 1.0, 1.0 - 1e-12, False),
    ],
)
def test_a_regression_is_a_mean_that_got_worse(tmp_path, direction, before, after, fell):
    task = make_task(tmp_path, "t", score_range=RANGE, direction=direction)
    comparison = compared(tmp_path, task, before, after)
    assert comparison.regressions.mean_fell is fell
    assert comparison.figures.direction == direction


def test_in_junit_a_score_is_no_failure(tmp_path):
    task = make_task(tmp_path, "t", verdict="none")
    outcome, _ = summary_of(tmp_path, [task], lambda _: {"status": "SCORED", "score": 0.25}, "s")
    text = junit_report(report_content(read_job(JobFolder(outcome.folder)), private=False)).decode()
    assert 'failures="0" errors="0"' in text
    assert 'name="score" value="0.25"' in text


def bound(value, tmp_path, **output):
    return bind(value, Output(**output), task=tmp_path)


@pytest.mark.parametrize(
    ("value", "output", "status", "score"),
    [
        ({"score": 3}, {"verdict": "none", "score_range": RANGE}, "SCORED", 3.0),
        ({"status": "SCORED", "score": 3}, {"verdict": "none", "score_range": None}, "SCORED", 3.0),
        ({"status": "PASS"}, {"direction": "minimize", "score_range": RANGE}, "PASS", 0.0),
        ({"status": "FAIL"}, {"direction": "minimize", "score_range": RANGE}, "FAIL", 10.0),
        ({"status": "PASS"}, {"score_range": RANGE}, "PASS", 10.0),
        ({"status": "FAIL"}, {"score_range": RANGE}, "FAIL", 0.0),
    ],
)
def test_what_an_evaluator_may_return(tmp_path, value, output, status, score):
    verdict = bound(value, tmp_path, **output)
    assert (verdict.status, verdict.score) == (status, score)


@pytest.mark.parametrize(
    ("value", "output", "says"),
    [
        ({"status": "PASS", "score": 1}, {"verdict": "none"}, "the task has no verdict"),
        ({"status": "FAIL"}, {"verdict": "none"}, "the task has no verdict"),
        ({}, {"verdict": "none"}, "score is null"),
        ({"score": 11}, {"verdict": "none", "score_range": RANGE}, "outside of score_range"),
        ({"status": "SCORED", "score": 1}, {}, "not 'PASS' or 'FAIL'"),
        ({"score": 1}, {}, "status is missing"),
    ],
)
def test_what_it_may_not(tmp_path, value, output, says):
    with pytest.raises(AttemptFailed) as caught:
        bound(value, tmp_path, **output)
    assert caught.value.failure.kind == "invalid_result"
    assert says in caught.value.failure.message
