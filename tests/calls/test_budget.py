"""What calls may cost: counted before they are made, in a job and in its shares."""

from __future__ import annotations

import pytest

from scorehost.calls.budget import Budget
from scorehost.errors import BudgetSpent
from scorehost.model.call import RoleUsage


def spend(budget, times):
    for _ in range(times):
        budget.begin()


def test_a_budget_without_limits_counts_and_refuses_nothing():
    budget = Budget()
    spend(budget, 1000)
    budget.end(RoleUsage(input_tokens=3, output_tokens=5))
    assert (budget.calls, budget.tokens) == (1000, 8)


def test_the_last_call_that_a_job_may_have_is_made_and_the_next_one_names_the_option():
    budget = Budget(max_calls=2)
    spend(budget, 2)
    with pytest.raises(BudgetSpent, match="--max-calls is 2, and 2 are spent") as caught:
        budget.begin()
    assert (caught.value.kind, budget.calls) == ("budget_spent", 2)


def test_tokens_are_known_only_afterwards_so_a_job_may_pass_its_limit_by_the_calls_under_way():
    budget = Budget(max_tokens=10)
    spend(budget, 2)
    budget.end(RoleUsage(input_tokens=6, output_tokens=6))
    with pytest.raises(BudgetSpent, match="--max-tokens is 10, and 12 are spent"):
        budget.begin()


def test_what_was_spent_before_a_job_was_resumed_counts():
    with pytest.raises(BudgetSpent):
        Budget(max_calls=5, calls=5).begin()
    with pytest.raises(BudgetSpent):
        Budget(max_tokens=5, tokens=5).begin()


def test_a_share_ends_before_its_job_and_takes_nothing_of_the_others():
    job = Budget(max_calls=10)
    first, second = job.share(max_calls=2, refusal="two calls are enough"), job.share(max_calls=2)
    spend(first, 2)
    with pytest.raises(BudgetSpent, match="two calls are enough") as caught:
        first.begin()
    assert caught.value.kind == ""
    spend(second, 2)
    assert (first.calls, second.calls, job.calls) == (2, 2, 4)


def test_a_call_that_a_job_refuses_counts_in_no_share():
    job = Budget(max_calls=1)
    first, second = job.share(max_calls=5), job.share(max_calls=5)
    first.begin()
    with pytest.raises(BudgetSpent) as caught:
        second.begin()
    assert (caught.value.kind, second.calls, job.calls) == ("budget_spent", 0, 1)


def test_shares_lie_in_shares_and_tokens_count_in_all_of_them():
    job = Budget()
    submission = job.share(max_tokens=10)
    attempt = submission.share(max_calls=3)
    attempt.begin()
    attempt.end(RoleUsage(input_tokens=4, output_tokens=6))
    assert (attempt.tokens, submission.tokens, job.tokens) == (10, 10, 10)
    with pytest.raises(BudgetSpent, match="tokens is 10"):
        submission.share().begin()
    job.begin()
