"""What evaluate() may return, and what is said of the rest."""

import json
import time

import pytest
from scripted import evaluate, plain

from scorehost_sdk.returned import Rejected, checked

LIMITS = {"metrics_bytes": 1 << 20, "metrics_depth": 16, "checks_bytes": 8 << 20, "checks_rows": 10_000}


def nested(levels, inner=1):
    for _ in range(levels):
        inner = [inner]
    return inner


def wide(levels):
    """A value that is small in memory and 10**levels nodes when written out."""
    value = [1] * 10
    for _ in range(levels - 1):
        value = [value] * 10
    return value


class Odd:
    """What JSON cannot hold."""


class Text(str):
    """A subclass."""

    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"status": "pass"},
        {"status": True, "score": True},
        {"status": "ERROR", "score": "0.9"},
        {"status": "PASS", "score": 10**400},
        {"status": "PASS", "score": -1, "metrics": {"a": nested(15)}},
        {"status": "PASS", "metrics": [1]},
        {"status": "PASS", "extra": {"deep": ["kept"]}},
    ],
)
def test_whatever_json_holds_is_sent_for_the_controller_to_judge(value):
    assert checked(value, LIMITS) == value
    json.dumps(value)


def test_subclasses_and_tuples_become_what_json_has():
    value = checked({"status": Text("PASS"), "metrics": {Text("a"): (1, 2)}}, LIMITS)
    assert value == {"status": "PASS", "metrics": {"a": [1, 2]}}
    assert type(value["status"]) is str


def test_text_that_is_not_unicode_is_sent_escaped():
    assert checked({"status": "\ud800"}, LIMITS) == {"status": "\\ud800"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "evaluate returned a value of type NoneType, not a dict"),
        ([1], "evaluate returned a value of type list, not a dict"),
        (1.0, "evaluate returned a value of type float, not a dict"),
        ({"score": float("nan")}, "result.score is nan, which is no number that JSON holds"),
        ({"score": float("inf")}, "result.score is inf, which is no number that JSON holds"),
        ({"score": 10**5000}, "result.score is an int of 16610 bits"),
        ({"metrics": {"a": [0, float("-inf")]}}, "metrics.a[1] is -inf, which is no number that JSON holds"),
        ({"metrics": {"a": {1}}}, "metrics.a is of type set, which JSON cannot hold"),
        ({"metrics": {"the gold!": b""}}, "metrics.… is of type bytes, which JSON cannot hold"),
        ({"metrics": {1: 2}}, "metrics has a key that is of type int, not text"),
        ({"metrics": nested(17)}, "metrics" + "[0]" * 16 + " is nested deeper than 16 levels"),
        (
            {"status": "PASS", "why": Odd()},
            "result.why is of type test_sdk_returned.Odd, which JSON cannot hold",
        ),
    ],
)
def test_what_json_cannot_hold_is_named_by_field_and_type(value, text):
    with pytest.raises(Rejected) as caught:
        checked(value, LIMITS)
    assert (caught.value.kind, caught.value.text) == ("invalid_result", text)


@pytest.mark.parametrize(
    "value",
    [
        {"metrics": {"a": "x" * 40_000_000}},
        {"metrics": {"a": list(range(1_000_000))}},
        {"metrics": {str(n): n for n in range(300_000)}},
        {"metrics": {"a": wide(12)}},
        {"metrics": {"a": [0.1234567890123456] * 70_000}},
        {"status": "x" * 2_000_000},
    ],
    ids=["text", "list", "dict", "shared", "floats", "status"],
)
def test_more_than_a_mebibyte_is_too_large_and_soon_known(value):
    began = time.perf_counter()
    with pytest.raises(Rejected) as caught:
        checked(value, LIMITS)
    assert caught.value.kind == "result_too_large"
    assert time.perf_counter() - began < 2


def test_a_cycle_and_ten_thousand_nested_lists_are_refused():
    loop = {}
    loop["self"] = loop
    for value in (loop, nested(10_000)):
        with pytest.raises(Rejected):
            checked({"metrics": value}, LIMITS)


def test_a_bad_row_is_replaced_and_the_others_are_kept():
    rows = [
        {"id": "a", "score": float("nan")},
        {"id": "b", "details": nested(31)},
        Odd(),
        "text",
        {"id": "a"},
    ]
    assert checked({"status": "PASS", "checks": rows}, LIMITS)["checks"] == [
        {"_unserializable": 0, "reason": "the row.score is nan, which is no number that JSON holds"},
        {"id": "b", "details": nested(31)},
        {"_unserializable": 2, "reason": "the row is of type test_sdk_returned.Odd, which JSON cannot hold"},
        "text",
        {"id": "a"},
    ]


def test_rows_beyond_the_count_are_left_out_in_one_entry():
    rows = checked({"checks": [{"id": str(n)} for n in range(12_000)]}, LIMITS)["checks"]
    assert len(rows) == 10_001
    assert rows[-1] == {"_unserializable": 10_000, "reason": "more than 10000 rows"}


def test_rows_beyond_the_bytes_are_left_out_in_one_entry():
    rows = checked({"checks": [{"id": str(n), "message": "é" * 500_000} for n in range(20)]}, LIMITS)[
        "checks"
    ]
    # A row is 1,000,000 bytes of text and a little: eight are within 8 MiB.
    assert [row["id"] for row in rows[:-1]] == [str(n) for n in range(8)]
    assert rows[-1]["_unserializable"] == 8


@pytest.mark.parametrize(("value", "name"), [({"id": "a"}, "dict"), (3, "int"), ("rows", "str")])
def test_checks_that_are_no_list_are_named_and_change_nothing_else(value, name):
    got = checked({"status": "FAIL", "checks": value}, LIMITS)
    reason = f"checks is of type {name}, not a list"
    assert got == {"status": "FAIL", "checks": [{"_unserializable": 0, "reason": reason}]}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return None", "invalid_result"),
        ("return {'status': 'PASS', 'score': float('nan')}", "invalid_result"),
        ("return {'status': 'PASS', 'metrics': {'a': 'x' * 40_000_000}}", "result_too_large"),
    ],
)
def test_a_rejected_value_ends_as_a_failed_frame(tmp_path, body, kind):
    outcome = evaluate(tmp_path, plain(body))
    assert outcome.error.kind == kind
    assert outcome.exit_code == 0


def test_the_largest_result_that_is_allowed_fits_into_a_frame(tmp_path):
    source = plain("""
rows = [{"id": str(n), "message": "\\x01" * 130_000} for n in range(11)]
return {"status": "PASS", "metrics": {"a": "é" * 500_000}, "checks": rows}
""")
    outcome = evaluate(tmp_path, source)
    assert len(outcome.value["checks"]) == 11
    assert len(outcome.value["metrics"]["a"]) == 500_000


class Held:
    """What numpy's arrays and scalars have in common."""

    dtype = "int64"

    def __init__(self, held):
        self.held = held

    def tolist(self):
        return self.held


def test_what_arrays_and_scalars_of_numpy_hold_is_returned():
    value = {"status": "PASS", "score": Held(0.5), "metrics": {"n": Held(3), "rows": Held([[1, 2], [3, 4]])}}
    assert checked(value, LIMITS) == {
        "status": "PASS", "score": 0.5, "metrics": {"n": 3, "rows": [[1, 2], [3, 4]]}
    }  # fmt: skip
    for odd in (Held({1}), Held(Held(1))):
        with pytest.raises(Rejected, match="which JSON cannot hold"):
            checked({"status": "PASS", "metrics": {"n": odd}}, LIMITS)
