"""What counts as a result, and what is said of everything else."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.attempt.binding import Verdict, bind, bind_told
from scorehost.errors import AttemptFailed
from scorehost.model import json
from scorehost.model.failure import Failure
from scorehost.spec.task import Output

UNIT = Output()
HERE = Path(__file__).parent  # no test here looks a script up, but where it says so
OPEN = Output(score_range=None)
GOLD = "the answer that nobody may read is four words long"


def fault(value, output=UNIT) -> tuple[str, str]:
    """(kind, message) of the failure that `value` must be."""
    with pytest.raises(AttemptFailed) as caught:
        bind(value, output, task=HERE)
    failure = caught.value.failure
    assert failure.phase == "evaluate"
    assert failure.blame == "dataset"
    return failure.kind, failure.message


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (math.nan, "score is nan, not a finite number"),
        (math.inf, "score is inf, not a finite number"),
        (-math.inf, "score is -inf, not a finite number"),
        (float("1e999"), "score is inf, not a finite number"),
        (10**400, "score is a whole number of more than 60 digits, not a finite number"),
        (-(10**400), "score is a whole number of more than 60 digits, not a finite number"),
        (10**59, f"score is 1{'0' * 59}, outside of score_range [0, 1]"),
        (10**60, "score is a whole number of more than 60 digits, outside of score_range [0, 1]"),
        (True, "score is true, not a number"),
        (False, "score is false, not a number"),
        ("0.9", 'score is "0.9", not a number'),
        ([1], "score is a list, not a number"),
        ({}, "score is an object, not a number"),
        (1.7, "score is 1.7, outside of score_range [0, 1]"),
        (-1, "score is -1, outside of score_range [0, 1]"),
        (1.000000002, "score is 1.000000002, outside of score_range [0, 1]"),
        (GOLD, "score is a text of 50 characters, not a number"),
    ],
)
def test_a_score_that_is_no_number_in_range_is_named(score, said):
    assert fault({"status": "PASS", "score": score}) == ("invalid_result", said)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("pass", 'status is "pass", not '),
        ("ERROR", 'status is "ERROR", not '),
        (True, "status is true, not "),
        (None, "status is null, not "),
        (1, "status is 1, not "),
        (["PASS"], "status is a list, not "),
        (GOLD, "status is a text of 50 characters, not "),
    ],
)
def test_a_status_that_is_no_verdict_is_named(status, said):
    assert fault({"status": status, "score": 1}) == ("invalid_result", said + "'PASS' or 'FAIL'")


@pytest.mark.parametrize("value", [{}, {"score": 1.0}])
def test_a_missing_status_is_never_a_default(value):
    assert fault(value) == ("invalid_result", "status is missing, not 'PASS' or 'FAIL'")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "a list"),
        (None, "null"),
        (1, "1"),
        ("PASS", '"PASS"'),
        (True, "true"),
        (GOLD, "a text of 50 characters"),
    ],
)
def test_what_is_no_object_is_no_result(value, said):
    assert fault(value) == ("invalid_result", f"evaluate() returned {said}, not an object")


def test_an_unknown_key_is_named_unless_it_is_long():
    kind, said = fault({"status": "PASS", "note": 1})
    assert (kind, said) == (
        "invalid_result",
        'evaluate() returned the unknown key "note"; known are checks, metrics, score, status',
    )
    assert GOLD not in fault({"status": "PASS", GOLD: 1})[1]


@pytest.mark.parametrize(
    ("output", "status", "score"),
    [
        (UNIT, "PASS", 1.0),
        (UNIT, "FAIL", 0.0),
        (Output(score_range=(-2.0, 5.0)), "PASS", 5.0),
        (Output(score_range=(-2.0, 5.0)), "FAIL", -2.0),
        (OPEN, "PASS", 1.0),
        (OPEN, "FAIL", 0.0),
    ],
)
@pytest.mark.parametrize("absent", [{}, {"score": None}])
def test_an_absent_score_is_the_end_of_the_range(output, status, score, absent):
    bound = bind({"status": status, **absent}, output, task=HERE)
    assert (bound.status, bound.score, bound.metrics, bound.checks) == (status, score, {}, ())


@pytest.mark.parametrize("score", [0, 0.0, 1, 1.0, 0.5, -0.0])
def test_a_score_in_range_is_kept_whatever_the_status(score):
    for status in ("PASS", "FAIL"):
        assert bind({"status": status, "score": score}, UNIT, task=HERE).score == score


@pytest.mark.parametrize(
    ("output", "score", "kept"),
    [
        (UNIT, 1.0000000000000002, 1.0),  # 0.1 + 0.2 + 0.7 in another order
        (UNIT, 1 + 9e-10, 1.0),
        (UNIT, -1e-17, 0.0),
        (UNIT, 0.9999999999999999, 0.9999999999999999),  # in range: as it is
        (Output(score_range=(0.0, 100.0)), 100.00000000000001, 100.0),
        (Output(score_range=(-2.0, 5.0)), -2.0000000000000004, -2.0),
    ],
)
def test_a_score_that_adding_up_put_just_outside_is_the_end_of_the_range(output, score, kept):
    assert bind({"status": "PASS", "score": score}, output, task=HERE).score == kept


def test_a_score_that_is_further_outside_than_that_is_refused_in_any_range():
    for output, score in (
        (Output(score_range=(0.0, 1e-6)), 2e-6),
        (Output(score_range=(0.0, 100.0)), 100.001),
    ):
        assert fault({"status": "PASS", "score": score}, output)[0] == "invalid_result"


def test_an_open_range_takes_any_finite_number():
    assert bind({"status": "FAIL", "score": -1e300}, OPEN, task=HERE).score == -1e300
    assert fault({"status": "PASS", "score": math.nan}, OPEN)[0] == "invalid_result"
    assert fault({"status": "PASS", "score": 10**400}, OPEN)[0] == "invalid_result"


def nested(levels: int):
    value: dict = {}
    for _ in range(levels - 1):
        value = {"k": value}
    return value


def test_metrics_nest_16_levels_and_no_more():
    assert bind({"status": "PASS", "metrics": nested(16)}, UNIT, task=HERE).metrics == nested(16)
    assert fault({"status": "PASS", "metrics": nested(17)}) == (
        "result_too_large",
        "metrics nests deeper than 16 levels",
    )
    assert fault({"status": "PASS", "metrics": nested(900)})[0] == "result_too_large"


def test_metrics_hold_1_mib_and_no_more():
    room = 2**20 - len('{"k":""}')
    assert bind({"status": "PASS", "metrics": {"k": "x" * room}}, UNIT, task=HERE)
    kind, said = fault({"status": "PASS", "metrics": {"k": "x" * (room + 1)}})
    assert (kind, said) == ("result_too_large", "metrics has 1048577 bytes, more than 1048576")


@pytest.mark.parametrize("metrics", [[], [1], "text", 5, True])
def test_metrics_that_are_no_object_are_an_invalid_result(metrics):
    kind, said = fault({"status": "PASS", "metrics": metrics})
    assert kind == "invalid_result"
    assert said.endswith("not an object")


def test_metrics_that_json_cannot_hold_are_an_invalid_result():
    kind, said = fault({"status": "PASS", "metrics": {"k": math.nan}})
    assert (kind, said) == ("invalid_result", "metrics holds a value that JSON cannot hold")


GOOD = {"id": "good", "status": "PASS"}


def checked(*rows) -> Verdict:
    return bind({"status": "FAIL", "score": 0.25, "checks": list(rows)}, UNIT, task=HERE)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"id": "x"}, "status: Field required"),
        ({"status": "PASS"}, "id: Field required"),
        ({"id": "", "status": "PASS"}, "id: String should have at least 1 character"),
        ({"id": "x" * 257, "status": "PASS"}, "id: String should have at most 256 characters"),
        ({"id": "x", "status": "pass"}, "status: Input should be 'PASS', 'FAIL', 'ERROR' or 'SKIP'"),
        ({"id": "x", "status": "PASS", "score": "1"}, "score: Input should be a valid number"),
        ({"id": "x", "status": "PASS", "colour": 1}, '"colour": Extra inputs are not permitted'),
        (
            {"id": "x", "status": "PASS", GOLD: 1},
            "a text of 50 characters: Extra inputs are not permitted",
        ),
        ({"id": "x\x1b[2J", "status": "PASS"}, "its id holds control characters"),
        ({"id": "a\nb", "status": "PASS"}, "its id holds control characters"),
        ({"id": "good", "status": "FAIL"}, 'the id "good" stands before'),
        ("a row", 'it is "a row", not an object'),
        (None, "it is null, not an object"),
        ([], "it is a list, not an object"),
        ({"_unserializable": 1, "reason": "the row is of type set"}, "the row is of type set"),
        ({"_unserializable": 1, "reason": "a\x1bb" + "c" * 300}, "ab" + "c" * 117),
        ({"id": "x", "status": "PASS", "details": math.nan}, "JSON cannot hold it"),
    ],
)
def test_a_bad_row_is_left_out_with_a_warning_that_names_it_and_changes_no_verdict(row, why):
    bound = checked(GOOD, row, {"id": "later", "status": "FAIL"})
    assert (bound.status, bound.score) == ("FAIL", 0.25)
    assert [check.id for check in bound.checks] == ["good", "later"]
    assert bound.warnings == (f"checks: row 2 was left out: {why}",)


@pytest.mark.parametrize(
    ("checks", "said"), [({}, "an object"), ("rows", '"rows"'), (GOLD, "a text of 50 characters")]
)
def test_checks_that_are_no_list_are_left_out(checks, said):
    bound = bind({"status": "PASS", "checks": checks}, UNIT, task=HERE)
    assert bound.checks == ()
    assert bound.warnings == (f"checks is {said}, not a list; all of it was left out",)


def test_ten_thousand_rows_are_kept_and_one_more_is_not():
    rows = [{"id": str(number), "status": "PASS"} for number in range(10_001)]
    bound = checked(*rows)
    assert len(bound.checks) == 10_000
    assert bound.warnings == ("checks: rows after the first 10000 were left out",)


def test_rows_are_kept_up_to_8_mib():
    rows = [{"id": str(number), "status": "PASS", "message": "m" * 2**20} for number in range(10)]
    bound = checked(*rows)
    assert len(bound.checks) == 7
    assert bound.warnings == ("checks: row 8 and what follows was left out: more than 8388608 bytes",)


def test_a_script_is_a_file_of_the_dataset_or_its_row_is_kept_without_it(tmp_path):
    tasks = tmp_path / "tasks"
    for path in ("t/check.py", "t/lib/more.py", "other/check.py"):
        (tasks / path).parent.mkdir(parents=True, exist_ok=True)
        (tasks / path).write_text("")
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "exact.py").write_text("")
    (tasks / "t" / "link.py").symlink_to("../../outside.py")
    good = ["check.py", "lib/more.py", "tasks/t/check.py", "tasks/other/check.py", "shared/exact.py"]
    bad = [
        "no.py",
        "lib",
        "",
        "/etc/passwd",
        "../other/check.py",
        "tasks/../outside.py",
        "link.py",
        "tasks/no.py",
        "shared/no.py",
        "shared/../outside.py",
    ]
    rows = [{"id": str(n), "status": "PASS", "script": path} for n, path in enumerate([*good, *bad, None])]
    bound = bind({"status": "PASS", "checks": rows}, UNIT, task=tasks / "t")
    assert [row.id for row in bound.checks] == [str(n) for n in range(len(rows))]
    assert [row.script for row in bound.checks] == [*good, *[None] * len(bad), None]
    without = "is not a file of the dataset's tasks or of shared/; the row was kept without it"
    assert bound.warnings[:2] == (
        f'checks: row 6: script "no.py" {without}',
        f'checks: row 7: script "lib" {without}',
    )
    empty = 'script "" is no path in the dataset: it is empty; the row was kept without it'
    assert bound.warnings[2] == f"checks: row 8: {empty}"
    assert len(bound.warnings) == len(bad)


def test_rows_told_before_count_and_a_row_of_the_result_replaces_its_namesake():
    told = [{"id": "a", "status": "FAIL"}, {"id": "b", "status": "PASS"}, {"id": "a", "status": "PASS"}, "x"]
    value = {"status": "PASS", "checks": [{"id": "b", "status": "SKIP"}, {"id": "c", "status": "PASS"}]}
    bound = bind(value, UNIT, task=HERE, told=told)
    assert [(row.id, row.status) for row in bound.checks] == [("a", "FAIL"), ("b", "SKIP"), ("c", "PASS")]
    assert bound.warnings == (
        'checks: row 3 of those that check() told was left out: the id "a" stands before',
        'checks: row 4 of those that check() told was left out: it is "x", not an object',
    )


def test_rows_told_by_an_evaluation_without_a_result_are_judged_by_the_same_rules():
    checks = bind_told([{"id": "a", "status": "FAIL", "script": "no.py"}, {"id": "b"}], task=HERE)
    assert [(row.id, row.script) for row in checks.rows] == [("a", None)]
    assert len(checks.warnings) == 2


def test_ten_thousand_bad_rows_make_few_warnings():
    bound = checked(*[{"id": "x"}] * 9_000)
    assert len(bound.warnings) == 51
    assert bound.warnings[-1] == "checks: 8950 more of such lines were left out"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    st.fixed_dictionaries(
        {"status": st.sampled_from(["PASS", "FAIL"]) | values},
        optional={"score": values, "metrics": values, "checks": values},
    )
    | values
)
def test_whatever_is_returned_there_is_a_sound_verdict_or_a_named_failure(value):
    bound = bound_or_refused(value)
    if isinstance(bound, Failure):
        assert bound.kind in ("invalid_result", "result_too_large")
        assert len(bound.message) < 200
    else:
        assert value["status"] == bound.status
        assert 0 <= bound.score <= 1
        assert not isinstance(value.get("score"), (bool, str, list, dict))
        json.dump(dict(bound.metrics))


def bound_or_refused(value) -> Verdict | Failure:
    try:
        return bind(value, UNIT, task=HERE)
    except AttemptFailed as error:
        return error.failure
