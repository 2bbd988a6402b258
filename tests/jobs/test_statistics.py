"""Means, bounds and rates against figures worked out by hand."""

from __future__ import annotations

from itertools import combinations

import pytest
from scripted_jobs import Script, make_dataset, make_task, run, scoring_digests

from scorehost.figures.estimators import ks, pass_at_k, pass_power_k
from scorehost.jobs.statistics import mean
from scorehost.model.failure import Phase


def by_key(**verdicts):
    """Verdicts by `task/submission/sample.repeat`, or by task id; PASS for all others."""

    def verdict(order):
        return verdicts.get(str(order.key), verdicts.get(order.key.task_id, {}))

    return Script(verdict)


def by_keys(verdicts):
    return by_key(**verdicts)


def test_pass_at_k_is_the_share_of_draws_that_hold_a_pass():
    # 5 samples, 2 pass: of the 10 pairs 3 hold no pass, so 7/10.
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    for n, c in ((6, 0), (6, 1), (6, 4), (6, 6)):
        samples = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            draws = list(combinations(samples, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
            assert pass_power_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_rates_are_undefined_with_fewer_samples_than_k():
    assert pass_at_k(3, 3, 4) is None
    assert pass_power_k(3, 3, 4) is None


def test_rates_of_many_samples_are_exact():
    assert pass_at_k(10_000, 1, 1) == pytest.approx(0.0001)
    assert pass_power_k(10_000, 5_000, 2) == pytest.approx(0.5 * 4_999 / 9_999)


def test_ks_are_few_and_reach_the_number_of_samples():
    assert ks(0) == ()
    assert ks(3) == (1, 2, 3)
    assert ks(200) == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200)
    assert ks(137)[-1] == 137


def test_a_mean_of_scores_near_the_largest_float_is_finite():
    assert mean([1.5e308, 1.5e308]) == pytest.approx(1.5e308)
    assert mean([None, None]) is None


@pytest.mark.parametrize(
    ("weights", "whole"),
    [((0.0, 1.0), 0.5), ((0.0, 0.0), 0.75), ((1e308, 1e308), 0.75), ((5e-324, 1.0), 0.5)],
)
def test_a_task_by_itself_has_a_mean_whatever_it_weighs_and_no_weight_is_too_large(tmp_path, weights, whole):
    tasks = [make_task(tmp_path, name, weight=weight) for name, weight in zip("ab", weights, strict=True)]
    script = by_keys({"a": {"score": 1.0}, "b": {"score": 0.5}})
    summary = run(tmp_path, make_dataset(tmp_path, *tasks), script, submissions=("solution",)).summary
    assert summary["mean_score"] == summary["bounds"]["lower"] == whole
    assert [summary["tasks"][name]["mean_score"] for name in "ab"] == [1.0, 0.5]
    assert summary["tasks"]["a"]["pass_at_k"] == {"1": 1.0}


def test_a_task_without_weight_does_not_stand_in_for_one_that_is_left_out(tmp_path):
    tasks = [make_task(tmp_path, "a", weight=0.0), make_task(tmp_path, "b")]
    script = by_keys({"b": {"kind": "start_failed"}})
    summary = run(tmp_path, make_dataset(tmp_path, *tasks), script, submissions=("solution",)).summary
    assert summary["mean_score"] is None


def test_repeats_are_averaged_before_samples_and_samples_before_tasks(tmp_path):
    sub = tmp_path / "sub"
    for path in ("a/samples/1", "a/samples/2", "b/samples/1"):
        (sub / path).mkdir(parents=True)
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b", weight=3.0))
    script = by_keys(
        {
            "a/sub/1.1": {"score": 1.0},
            "a/sub/1.2": {"score": 0.0},  # sample 1: 0.5
            "a/sub/2.1": {"score": 0.25},
            "a/sub/2.2": {"score": 0.25},  # sample 2: 0.25; task a: 0.375
            "b/sub/1.1": {"score": 1.0},
            "b/sub/1.2": {"score": 0.5},  # task b: 0.75
        }
    )
    summary = run(tmp_path, dataset, script, submissions=(str(sub),), repeat=2).summary
    assert summary["tasks"]["a"]["mean_score"] == 0.375
    assert summary["tasks"]["b"]["mean_score"] == 0.75
    assert summary["mean_score"] == pytest.approx((0.375 + 3 * 0.75) / 4)
    assert summary["n"] == 6


def test_an_error_that_the_submission_or_evaluator_caused_counts_as_the_lowest_score(tmp_path):
    dataset = make_dataset(tmp_path, *(make_task(tmp_path, name, score_range=(0.2, 1.0)) for name in "abcd"))
    script = by_key(
        a={"score": 1.0},
        b={"kind": "submission_fault"},
        c={"kind": "evaluator_exception"},
        d={"kind": "engine_lost"},
    )
    summary = run(tmp_path, dataset, script, submissions=("solution",)).summary
    assert summary["mean_score"] == pytest.approx((1.0 + 0.2 + 0.2) / 3)
    assert (summary["n"], summary["errors_as_lowest"], summary["errors_left_out"]) == (3, 2, 1)
    assert summary["bounds"] == {
        "lower": pytest.approx((1.0 + 0.2 * 3) / 4),
        "upper": pytest.approx(1.0),
    }
    assert summary["counts"] == {"PASS": 1, "FAIL": 0, "ERROR": 3}
    assert {(row["kind"], row["blame"], row["count"]) for row in summary["errors"]} == {
        ("submission_fault", "submission", 1),
        ("evaluator_exception", "dataset", 1),
        ("engine_lost", "engine", 1),
    }


def test_an_error_of_the_dataset_before_evaluation_is_left_out(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    script = by_key(b={"kind": "changed_input", "phase": Phase.PREPARE})
    summary = run(tmp_path, dataset, script, submissions=("solution",)).summary
    assert (summary["mean_score"], summary["n"], summary["errors_left_out"]) == (1.0, 1, 1)


def test_a_crash_gains_nothing_where_scores_are_open_and_negative(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", score_range=None))
    for number in (1, 2):
        (tmp_path / f"s{number}").mkdir()
    script = by_keys(
        {"a/s1/1.1": {"status": "FAIL", "score": -8.0}, "a/s2/1.1": {"kind": "submission_fault"}}
    )
    summary = run(tmp_path, dataset, script, submissions=(str(tmp_path / "s1"), str(tmp_path / "s2"))).summary
    assert summary["submissions"]["s2"]["mean_score"] == -8.0
    assert summary["bounds"] == {"lower": None, "upper": None}


def test_breaking_hosts_on_the_hard_half_gives_no_higher_mean_than_failing_it(tmp_path):
    dataset = make_dataset(tmp_path, *(make_task(tmp_path, f"t{n}") for n in range(4)))
    for name in ("breaks", "fails"):
        (tmp_path / name).mkdir()
    hard = {"t2", "t3"}

    def verdict(order):
        if order.key.task_id not in hard:
            return {}
        return {"kind": "evaluator_oom"} if order.key.submission == "breaks" else {"status": "FAIL"}

    words = (str(tmp_path / "breaks"), str(tmp_path / "fails"))
    parts = run(tmp_path, dataset, Script(verdict), submissions=words).summary["submissions"]
    assert parts["breaks"]["mean_score"] == parts["fails"]["mean_score"] == 0.5


def test_rankings_use_the_lower_bound(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    for name in ("lucky", "steady"):
        (tmp_path / name).mkdir()
    script = by_keys(
        {
            "a/lucky/1.1": {"score": 1.0},
            "b/lucky/1.1": {"kind": "host_lost"},  # mean 1.0 over a alone; lower bound 0.5
            "a/steady/1.1": {"status": "FAIL", "score": 0.7},
            "b/steady/1.1": {"status": "FAIL", "score": 0.7},
        }
    )
    words = (str(tmp_path / "lucky"), str(tmp_path / "steady"))
    summary = run(tmp_path, dataset, script, submissions=words).summary
    assert [(row["rank"], row["submission"]) for row in summary["ranking"]] == [(1, "steady"), (2, "lucky")]
    assert summary["submissions"]["lucky"]["mean_score"] == 1.0


def samples(root, counts):
    for task_id, count in counts.items():
        for number in range(1, count + 1):
            (root / task_id / "samples" / str(number)).mkdir(parents=True)
    return str(root)


def test_pass_at_k_is_averaged_over_tasks(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    word = samples(tmp_path / "sub", {"a": 3, "b": 3})

    def verdict(order):
        passes = order.key.sample == 1 if order.key.task_id == "a" else order.key.sample <= 2
        return {} if passes else {"status": "FAIL"}

    summary = run(tmp_path, dataset, Script(verdict), submissions=(word,)).summary
    # a: 1 of 3, b: 2 of 3. pass@2: a 1 - 1/3, b 1 - 0/3. pass^2: a 0, b 1/3.
    assert summary["pass_at_k"] == {
        "1": pytest.approx(0.5),
        "2": pytest.approx((2 / 3 + 1) / 2),
        "3": pytest.approx(1.0),
    }
    assert summary["pass_power_k"]["2"] == pytest.approx(1 / 6)


def test_pass_at_k_is_undefined_when_a_task_has_fewer_samples(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    word = samples(tmp_path / "sub", {"a": 3, "b": 1})
    summary = run(tmp_path, dataset, submissions=(word,)).summary
    assert summary["pass_at_k"] == {"1": 1.0, "2": None, "3": None}
    assert summary["tasks"]["a"]["pass_at_k"] == {"1": 1.0, "2": 1.0, "3": 1.0}


def test_pass_at_k_is_undefined_when_all_samples_of_a_task_are_left_out(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    word = samples(tmp_path / "sub", {"a": 2, "b": 2})
    script = Script(lambda order: {"kind": "engine_lost"} if order.key.task_id == "b" else {})
    summary = run(tmp_path, dataset, script, submissions=(word,)).summary
    # b has n = 0 < 1: a rate of a alone would hide b's ERRORs, as the mean would without its bounds.
    assert summary["pass_at_k"] == {"1": None, "2": None}
    assert summary["pass_power_k"] == {"1": None, "2": None}
    assert summary["tasks"]["a"]["pass_at_k"] == {"1": 1.0, "2": 1.0}
    assert summary["mean_score"] == 1.0


def test_an_error_that_counts_is_no_pass_and_others_leave_n(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"))
    word = samples(tmp_path / "sub", {"a": 4})
    kinds = {1: {}, 2: {"kind": "submission_fault"}, 3: {"kind": "engine_lost"}, 4: {}}
    summary = run(tmp_path, dataset, Script(lambda o: kinds[o.key.sample]), submissions=(word,)).summary
    # n = 3, c = 2
    assert summary["pass_at_k"] == {"1": pytest.approx(2 / 3), "2": 1.0, "3": 1.0, "4": None}


def test_agreement_is_the_share_of_samples_whose_repeats_agree(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b"))
    script = by_keys({"a/solution/1.2": {"status": "FAIL"}})
    summary = run(tmp_path, dataset, script, submissions=("solution",), repeat=2).summary
    assert summary["agreement"] == 0.5
    assert run(tmp_path, dataset, submissions=("solution",)).summary["agreement"] is None


def test_declared_metrics_are_summed_up_as_declared(tmp_path):
    declared = (
        ("mean_of", "mean"),
        ("median_of", "median"),
        ("least", "min"),
        ("most", "max"),
        ("all", "sum"),
    )
    dataset = make_dataset(tmp_path, *(make_task(tmp_path, name, metrics=declared) for name in "abc"))
    values = {"a": 1, "b": 2.0, "c": 6}

    def verdict(order):
        value = values[order.key.task_id]
        return {"metrics": {**{name: value for name, _how in declared}, "undeclared": 5}}

    rows = run(tmp_path, dataset, Script(verdict), submissions=("solution",)).summary["metrics"]
    assert {row["id"]: (row["value"], row["n"]) for row in rows} == {
        "mean_of": (3.0, 3),
        "median_of": (2.0, 3),
        "least": (1.0, 3),
        "most": (6.0, 3),
        "all": (9.0, 3),
    }


def test_a_metric_that_is_no_finite_number_is_not_counted(tmp_path):
    dataset = make_dataset(
        tmp_path, *(make_task(tmp_path, name, metrics=(("m", "mean"),)) for name in "abcd")
    )
    values = {"a": True, "b": "0.5", "c": 10**400, "d": 0.5}
    script = Script(lambda o: {"metrics": {"m": values[o.key.task_id]}})
    (row,) = run(tmp_path, dataset, script, submissions=("solution",)).summary["metrics"]
    assert (row["value"], row["n"]) == (0.5, 1)


def test_tags_have_figures_of_their_own(tmp_path):
    dataset = make_dataset(
        tmp_path, make_task(tmp_path, "a", tags=("hard",)), make_task(tmp_path, "b", tags=("hard", "new"))
    )
    script = by_key(a={"status": "FAIL"})
    tags = run(tmp_path, dataset, script, submissions=("solution",)).summary["tags"]
    assert (tags["hard"]["planned"], tags["hard"]["mean_score"]) == (2, 0.5)
    assert (tags["new"]["planned"], tags["new"]["mean_score"]) == (1, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ({}, {"gold": "other"}, "invalidated"),
        ({"images": {"evaluator": "1"}}, {"images": {"evaluator": "2"}}, "invalidated"),
        ({"images": {"evaluator": "1"}}, {"images": {"evaluator": "1", "audit": "3"}}, "complete"),
    ],
)
def test_a_job_whose_task_was_scored_by_different_inputs_is_invalidated(tmp_path, first, second, status):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"))
    script = by_keys(
        {
            "a/solution/1.1": {"digests": scoring_digests(**first)},
            "a/solution/1.2": {"digests": scoring_digests(**second)},
        }
    )
    outcome = run(tmp_path, dataset, script, submissions=("solution",), repeat=2)
    assert outcome.status == status
    assert outcome.exit_status == (3 if status == "invalidated" else 0)
    excused = run(tmp_path / "never", dataset, script, submissions=("solution",), repeat=2, exit_on="never")
    assert excused.exit_status == outcome.exit_status  # an invalid job is no verdict
