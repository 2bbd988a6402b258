"""The logs of one attempt are found by words, the evaluator's first, then each exec's in order."""

from __future__ import annotations

import pytest
from archived import Archiving
from scripted_jobs import run, some_tasks

from scorehost.errors import UsageError
from scorehost.runs.attempt_logs import Wanted, find_logs
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job

NAMES = [
    "audit.10.stdout.log",
    "audit.2.stderr.log",
    "audit.2.stdout.log",
    "evaluator.1.stdout.log",
    "evaluator.log",
]


@pytest.fixture
def job(tmp_path):
    script = Archiving(lambda _order, _files: {"logs": dict.fromkeys(NAMES, b"x")})
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("empty", "solution"), repeat=2)
    return read_job(JobFolder(outcome.folder))


def test_logs_stand_in_the_order_in_which_one_reads_them(job):
    attempt, found = find_logs(job, Wanted("a", submission="empty", repeat=2))
    assert str(attempt.key) == "a/empty/1.2"
    assert [one.path for one in found] == [
        "logs/evaluator.log",
        "logs/audit.2.stdout.log",
        "logs/audit.2.stderr.log",
        "logs/audit.10.stdout.log",
        "logs/evaluator.1.stdout.log",
    ]


def test_one_host_can_be_chosen(job):
    _, found = find_logs(job, Wanted("a", submission="empty", repeat=1, host="evaluator"))
    assert [one.path for one in found] == ["logs/evaluator.log", "logs/evaluator.1.stdout.log"]
    with pytest.raises(UsageError, match="has no log of host audti") as raised:
        find_logs(job, Wanted("a", submission="empty", repeat=1, host="audti"))
    assert raised.value.hint == "Did you mean audit?"


def test_more_than_one_attempt_is_told_with_the_words_that_choose(job):
    with pytest.raises(UsageError, match="4 attempts of a are meant") as raised:
        find_logs(job, Wanted("a"))
    assert "--submission solution --sample 1 --repeat 2" in raised.value.hint
    with pytest.raises(UsageError, match="a has no such attempt"):
        find_logs(job, Wanted("a", sample=7))


def test_a_task_that_is_not_there_is_told(job):
    with pytest.raises(UsageError, match="no finished attempt of b"):
        find_logs(job, Wanted("b"))
