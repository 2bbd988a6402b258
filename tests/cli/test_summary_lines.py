"""The figures below the table: a mean is never shown without its n and its bounds."""

from __future__ import annotations

from scorehost.cli.summary import summary_lines
from scorehost.model.call import RoleUsage
from scorehost.model.summary import Bounds, Counts, ErrorCount, Group, MetricSummary, Rank, Summary, Warned


def group(**changes):
    base = Group(
        planned=4,
        done=4,
        counts=Counts(PASS=2, FAIL=1, ERROR=1),
        errors=(ErrorCount(kind="engine_lost", blame="engine", count=1),),
        mean_score=2 / 3,
        n=3,
        errors_as_lowest=0,
        errors_left_out=1,
        bounds=Bounds(lower=0.5, upper=0.75),
        pass_at_k={"1": 0.5},
        pass_power_k={"1": 0.5},
        agreement=None,
        metrics=(),
    )
    return base.model_copy(update=changes)


def lines(usage=None, more=None, **submissions):
    whole = dict(group())
    summary = Summary(
        **whole,
        job_id="j",
        name=None,
        dataset_id="d",
        dataset_version="1",
        status="complete",
        started_at="",
        finished_at="",
        tasks={},
        submissions=submissions,
        usage=usage or {},
        **(more or {}),
        tags={},
        ranking=tuple(
            Rank(rank=place, submission=name, score=None, tasks=4)
            for place, name in enumerate(submissions, start=1)
        ),
    )
    return summary_lines(summary.model_dump(mode="json"))


def test_a_mean_stands_beside_its_n_its_bounds_and_the_counts():
    shown = lines(alice=group())
    assert shown[0].split() == ["submission", "done", "PASS", "FAIL", "ERROR", "mean", "n", "bounds"]
    assert shown[1].split() == ["alice", "4/4", "2", "1", "1", "0.6667", "3", "0.5", "to", "0.75"]


def test_errors_say_their_kind_their_blame_and_how_they_count():
    assert (
        lines(alice=group())[2] == "ERROR: engine_lost 1 (blame engine); of 4 attempts 1 left out of the mean"
    )


def test_pass_at_k_shows_only_where_there_are_several_samples():
    assert not any("pass@" in line for line in lines(alice=group()))
    shown = lines(alice=group(pass_at_k={"1": 0.5, "2": 0.8, "3": 1.0}, errors=()))
    assert shown[2:] == ["pass@1 0.5, pass@2 0.8"]
    shown = lines(alice=group(pass_at_k={"1": 0.5, "2": None}, errors=()))
    assert shown[2:] == ["pass@1 0.5, pass@2 undefined"]


def test_agreement_and_metrics_have_a_line_each_and_name_their_submission_when_there_are_several():
    metric = MetricSummary(id="rmse", direction="minimize", aggregate="mean", value=0.25, n=2)
    shown = lines(alice=group(errors=(), agreement=0.75, metrics=(metric,)), bob=group(errors=()))
    assert shown[3:] == ["alice: agreement of repeats 0.75", "alice: rmse (mean, minimize) 0.25, n 2"]
    nothing = metric.model_copy(update={"value": None, "n": 0})
    assert lines(alice=group(errors=(), metrics=(nothing,)))[-1] == "rmse (mean, minimize) undefined, n 0"


def test_an_open_range_has_no_bounds_and_says_so():
    assert lines(alice=group(errors=(), bounds=Bounds(lower=None, upper=None)))[1].endswith("open")


def test_what_each_role_used_stands_below_and_missing_counts_are_no_zeros():
    usage = {
        "judge": RoleUsage(
            calls=2, tries=3, input_tokens=10, output_tokens=4, missing_counts=1, seconds=1.26
        ),
        "solver": RoleUsage(calls=1, tries=1),
    }
    assert lines(usage=usage)[-2:] == [
        "role judge: 2 calls, 10 tokens in, 4 out, 1 without counts, 1.3 s",
        "role solver: 1 call, 0 tokens in, 0 out, 0.0 s",
    ]


def test_of_several_kinds_of_error_each_says_how_many_count_how():
    errors = (
        ErrorCount(kind="submission_fault", blame="submission", count=3, as_lowest=3),
        ErrorCount(kind="engine_lost", blame="engine", count=1, as_lowest=0),
        ErrorCount(kind="adapter_timeout", blame="adapter", count=2, as_lowest=1),
    )
    shown = lines(alice=group(done=12, errors=errors, errors_as_lowest=4, errors_left_out=2))
    assert shown[2].endswith(
        "; of 12 attempts 4 counted as the lowest score (3 submission_fault, 1 adapter_timeout), "
        "2 left out of the mean (1 engine_lost, 1 adapter_timeout)"
    )


def test_a_metric_says_beside_its_n_what_was_left_out():
    metric = MetricSummary(
        id="rmse", direction="minimize", aggregate="mean", value=0.25, n=2, left_out={"missing": 2, "text": 1}
    )
    shown = lines(alice=group(errors=(), metrics=(metric,)))
    assert shown[-1] == "rmse (mean, minimize) 0.25, n 2; left out: 2 missing, 1 text"


def test_warnings_stand_at_the_end_each_once_with_how_many_attempts_say_it():
    told = (
        Warned(text="b.zip.7z was skipped", count=1),
        Warned(text="a row was left out", count=5, attempts=("a/s/1.1", "b/s/1.1", "c/s/1.1")),
        Warned(text="its image has \x1b[31m", count=1, attempts=("d/s/1.1",)),
    )
    shown = lines(alice=group(), more={"warnings": told, "warnings_left_out": 7})
    at = shown.index("")
    assert shown[at + 1 :] == [
        "10 warnings; none of them changed a verdict:",
        "  b.zip.7z was skipped",
        "  a row was left out (5 attempts: a/s/1.1, b/s/1.1, c/s/1.1 and 2 more)",
        "  d/s/1.1: its image has \\x1b[31m",
        "  … and 7 further ones in result.json of attempts",
    ]


def test_many_warnings_are_cut_and_say_where_the_others_are():
    told = tuple(Warned(text=f"warning {number}", count=1) for number in range(25))
    shown = lines(alice=group(), more={"warnings": told})
    assert shown[-1] == "  … and 5 more in summary.json"


def test_adapters_without_a_user_of_their_own_are_told():
    usage = {"judge": RoleUsage(calls=1, tries=1)}
    for who, told in (("none", True), ("nobody", False)):
        shown = lines(usage=usage, more={"adapter_isolation": who})
        assert any("adapter_isolation: none" in line for line in shown) is told


def test_tokens_that_nobody_told_are_unknown_and_not_0():
    usage = {
        "judge": RoleUsage(calls=2, tries=2, unknown=2, seconds=0.5),
        "other": RoleUsage(calls=3, tries=3, input_tokens=7, output_tokens=1, unknown=1, seconds=0.5),
    }
    assert lines(usage=usage)[-2:] == [
        "role judge: 2 calls, tokens unknown, 0.5 s",
        "role other: 3 calls, 7 tokens in, 1 out, unknown for 1 call, 0.5 s",
    ]


def test_errors_that_the_work_can_have_provoked_stand_beside_the_mean():
    provoked = group(
        errors=(ErrorCount(kind="adapter_refused", blame="adapter", count=1),),
        errors_as_lowest=1,
        errors_provoked=1,
        errors_left_out=0,
    )
    told = "1 counted as the lowest score (1 by calls of agents that the work can have made fail)"
    assert any(line.endswith(told) for line in lines(s=provoked))


def test_that_adapters_ran_as_this_user_is_said():
    usage = {"judge": RoleUsage(calls=1, tries=1, input_tokens=1, output_tokens=1, seconds=0.5)}
    told = "adapter_isolation: none (programs that play roles run as this user)"
    assert told in lines(usage=usage, more={"adapter_isolation": "none"})
    assert not any(
        "adapter_isolation" in line for line in lines(usage=usage, more={"adapter_isolation": "someone"})
    )
