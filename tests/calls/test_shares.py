"""What submissions may spend of a job's calls and tokens: each its share, and what others leave over."""

from __future__ import annotations

import pytest

from scorehost.adapters.requests import Assertion, JudgeRequest, SessionRequest
from scorehost.calls.budget import Budget
from scorehost.calls.shares import Shares, estimated_tokens
from scorehost.errors import BudgetSpent
from scorehost.model.call import RoleUsage


def call(budget, estimate, used=None):
    budget.begin(estimate)
    budget.end(RoleUsage(input_tokens=estimate if used is None else used), estimate)


def two(**limits):
    shares = Shares(limits.get("max_calls"), limits.get("max_tokens"), {"a": 3, "b": 3}, {"a": 3, "b": 3})
    job = Budget()
    return shares, job, shares.of("a", job), shares.of("b", job)


def test_one_submission_s_long_answer_does_not_spend_the_share_of_another():
    _, job, long, honest = two(max_tokens=50_000)
    call(long, 15_000, used=60_000)  # the estimate was wrong, and everything is gone
    with pytest.raises(
        BudgetSpent, match="its share of --max-tokens 50000 is 25000, 60000 are spent"
    ) as caught:
        long.begin(15_000)
    assert caught.value.kind == "share_spent"
    for _ in range(3):
        call(honest, 100)
    assert (job.calls, job.tokens) == (4, 60_300)


def test_a_call_that_cannot_fit_is_refused_before_it_costs_anything():
    _, job, long, _ = two(max_tokens=1_000)
    with pytest.raises(BudgetSpent, match="the call needs about 501"):
        long.begin(501)
    assert (job.calls, job.tokens) == (0, 0)


def test_what_finished_attempts_have_left_over_is_free_for_others():
    shares, _, first, second = two(max_tokens=600)
    call(first, 10)
    shares.finished("a", ["t1", "t2", "t3"])
    call(second, 590)
    with pytest.raises(BudgetSpent):
        second.begin(1)


def test_an_attempt_that_is_made_again_has_its_right_again():
    shares, _, _, second = two(max_tokens=600)
    shares.finished("a", ["t1", "t2", "t3"])
    shares.begun("a", "t1")
    with pytest.raises(BudgetSpent):
        second.begin(501)
    second.begin(500)


def test_more_samples_are_no_larger_part_of_a_limit():
    shares = Shares(None, 600, {"many": 100, "one": 1}, {"many": 1, "one": 1})
    job = Budget()
    many, one = shares.of("many", job), shares.of("one", job)
    for _ in range(30):
        call(many, 10)
    with pytest.raises(BudgetSpent, match="its share of --max-tokens 600 is 300, 300 are spent"):
        many.begin(10)
    call(one, 50)
    shares.finished("one", ["t.1.1"])
    for _ in range(25):  # what the other has left over
        call(many, 10)


def test_calls_are_shared_in_the_same_way():
    shares, _, first, second = two(max_calls=4)
    call(first, 0)
    call(first, 0)
    with pytest.raises(BudgetSpent, match="its share of --max-calls 4 is 2"):
        first.begin()
    call(second, 0)
    shares.finished("b", ["t1", "t2", "t3"])
    call(first, 0)


def test_fewer_calls_than_submissions_go_to_whoever_comes_first_and_then_the_job_s_budget_is_spent():
    shares = Shares(2, None, dict.fromkeys("abc", 1), dict.fromkeys("abc", 1))
    job = Budget()
    call(shares.of("b", job), 0)
    call(shares.of("c", job), 0)
    with pytest.raises(BudgetSpent, match="--max-calls is 2, and 2 are spent") as caught:
        shares.of("a", job).begin()
    assert caught.value.kind == "budget_spent"


def test_a_resumed_job_goes_on_with_what_was_spent_by_each():
    shares, _, first, second = two(max_tokens=600)
    shares.tokens.update({"a": 300})
    with pytest.raises(BudgetSpent):
        first.begin(1)
    second.begin(300)


def test_a_call_under_way_counts_by_its_estimate_and_one_that_ended_by_what_it_used():
    _, _, first, _ = two(max_tokens=600)
    first.begin(200)
    with pytest.raises(BudgetSpent):
        first.begin(101)
    first.end(RoleUsage(input_tokens=50), 200)
    first.begin(250)


def test_an_estimate_counts_all_texts_of_a_request():
    judged = JudgeRequest(
        case_id="c", prompt="p" * 40, output="ü" * 40, assertion=Assertion(id="a", description="d" * 40)
    )
    assert estimated_tokens(judged) == (40 + 80 + 40) // 4
    turn = SessionRequest(
        role="r",
        session_id="s",
        turn=2,
        prompt="x" * 400,
        messages=({"role": "user", "content": "y" * 4000},),
    )
    assert 1100 <= estimated_tokens(turn) <= 1120
