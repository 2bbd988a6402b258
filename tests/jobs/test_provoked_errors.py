"""Faults of a judge that the judged work can have provoked, and what they count as in a whole job."""

from __future__ import annotations

import itertools

import pytest

from scorehost.jobs.statistics import Figures
from scorehost.model.failure import KINDS, Blame, Phase, failure
from scorehost.model.ids import AttemptKey
from scorehost.runs.provoked import provoked
from scorehost.runs.record import TaskRecord
from scorehost.runs.scored import Scored

LOWEST = {"t": TaskRecord(digests={}, score_range=(0.0, 1.0), provoked="lowest")}
WORKS = frozenset({"judge"})


def attempt(
    number, status="PASS", *, kind="", role="judge", phase=Phase.EVALUATE, submission="s", answered=WORKS
):
    error = None if not kind else failure(phase, kind, "no", role=role)
    score = {"PASS": 1.0, "FAIL": 0.0, "ERROR": None}["ERROR" if error else status]
    return Scored(
        key=AttemptKey(task_id="t", submission=submission, sample=number),
        number=1,
        status="ERROR" if error else status,
        score=score,
        error=error,
        seconds=0.0,
        metrics={},
        digests=None,
        answered=frozenset() if error else answered,
    )


def group(attempts, tasks=LOWEST):
    decided = provoked(attempts, tasks)
    counted = [decided.counted(one) for one in attempts]
    return Figures(tasks, counted).group(counted, planned=len(counted), task_ids=["t"]), decided


@pytest.mark.parametrize(
    "kind", ["adapter_malformed", "adapter_truncated", "adapter_refused", "adapter_overflow"]
)
@pytest.mark.parametrize("phase", [Phase.RUN, Phase.EVALUATE])
def test_a_fault_that_work_can_provoke_counts_as_the_lowest_where_the_judge_works_for_others(kind, phase):
    figures, decided = group([attempt(1), attempt(2, kind=kind, phase=phase)])
    assert (figures.mean_score, figures.n) == (0.5, 2)
    assert (figures.errors_as_lowest, figures.errors_provoked, figures.errors_left_out) == (1, 1, 0)
    assert (figures.counts.ERROR, decided.words) == (1, "")


def test_every_other_fault_of_an_adapter_is_left_out_though_the_judge_works_for_others():
    others = [
        kind
        for kind, facts in KINDS.items()
        if facts.blame is Blame.ADAPTER and not facts.provocable and Phase.EVALUATE in facts.phases
    ]
    assert {"adapter_timeout", "adapter_exit", "adapter_missing", "adapter_provenance"} <= set(others)
    for kind in others:
        figures, _ = group([attempt(1), attempt(2, kind=kind)])
        assert (figures.mean_score, figures.errors_as_lowest, figures.errors_left_out) == (1.0, 0, 1), kind


def test_a_judge_that_works_for_nobody_is_broken_and_the_job_says_so():
    figures, decided = group([attempt(1, answered=frozenset()), attempt(2, kind="adapter_malformed")])
    assert (figures.mean_score, figures.errors_provoked, figures.errors_left_out) == (1.0, 0, 1)
    assert decided.words == (
        "the role judge answered no call of this job, so 1 ERRORs that an answer could have provoked"
        " are left out of the mean"
    )


def test_another_role_that_works_says_nothing_of_the_one_that_failed():
    figures, _ = group([attempt(1), attempt(2, kind="adapter_refused", role="other")])
    assert (figures.mean_score, figures.errors_left_out) == (1.0, 1)


def test_results_of_an_earlier_release_which_name_no_role_count_as_they_did():
    figures, decided = group([attempt(1), attempt(2, kind="adapter_malformed", role=None)])
    assert (figures.mean_score, figures.errors_left_out, decided.words) == (1.0, 1, "")


def test_the_order_in_which_attempts_ended_changes_nothing():
    made = [attempt(1), attempt(2, kind="adapter_refused"), attempt(3, "FAIL")]
    made += [attempt(4, kind="adapter_exit")]
    found = {group(list(order))[0].model_dump_json() for order in itertools.permutations(made)}
    assert len(found) == 1


def test_a_kind_of_job_whose_tasks_say_incomplete_gets_no_zero():
    tasks = {"t": TaskRecord(digests={}, score_range=(0.0, 1.0))}
    figures, decided = group([attempt(1), attempt(2, kind="adapter_refused")], tasks)
    assert (figures.mean_score, figures.errors_as_lowest, figures.errors_left_out) == (1.0, 0, 1)
    assert [str(key) for key in decided.incomplete] == ["t/s/2.1"]


def test_a_share_that_is_spent_counts_as_the_lowest_where_another_submission_got_along_with_its_own():
    spent = attempt(2, kind="share_spent", submission="long")
    figures, _ = group([attempt(1), attempt(1, submission="long"), spent])
    assert (figures.errors_as_lowest, figures.errors_provoked, figures.errors_left_out) == (1, 1, 0)


def test_a_limit_that_is_too_low_for_everybody_is_held_against_nobody():
    both = [attempt(n, kind="share_spent", submission=name) for n, name in ((2, "a"), (2, "b"))]
    figures, decided = group([attempt(1, submission="a"), attempt(1, submission="b"), *both])
    assert (figures.errors_as_lowest, figures.errors_left_out, decided.words) == (0, 2, "")
