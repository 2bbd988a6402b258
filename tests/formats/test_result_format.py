"""result.json: both formats are read into one value, and what contradicts itself is refused."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from scripted_results import FIRST, first_with, second_with

from scorehost.model.result import Result, read_result, result_bytes


def test_a_result_of_the_first_format_says_the_same_in_the_words_of_the_second():
    result = read_result(json.dumps(FIRST).encode())
    assert (result.format, result.kind, result.try_number) == ("scorehost.result/2", "score", 3)
    assert (result.infrastructure, result.evaluation, result.salt) == ("ok", "failed", None)
    assert result.digests.scoring is not None
    assert (result.digests.scoring.gold, result.digests.scoring.gold_key) == ("sha256:33", None)
    assert result.digests.scoring.first
    assert result.digests.scoring.roles == {}
    told = json.loads(result_bytes(result))
    kept = {name: value for name, value in FIRST.items() if name not in ("format", "attempt", "digests")}
    assert kept.items() <= told.items()


def test_an_error_of_the_first_format_is_not_evaluated():
    error = {
        "phase": "upload",
        "kind": "engine_lost",
        "blame": "engine",
        "message": "m",
        "hint": "h",
        "retryable": True,
    }
    result = read_result(first_with(status="ERROR", score=None, error=error))
    assert (result.infrastructure, result.evaluation) == ("engine_lost", "not_evaluated")


def test_what_is_written_is_read_back(second):
    assert read_result(result_bytes(second)) == second
    assert json.loads(result_bytes(second))["try"] == 3
    assert "attempt" not in json.loads(result_bytes(second))


@pytest.fixture
def second() -> Result:
    return read_result(json.dumps(FIRST).encode())


@pytest.mark.parametrize(
    "change",
    [
        {"score": None},
        {"status": "PASS"},
        {"status": "ERROR"},
        {"evaluation": "passed"},
        {"evaluation": "not_evaluated"},
        {"infrastructure": "engine_lost"},
        {
            "error": {
                "phase": "upload",
                "kind": "engine_lost",
                "blame": "engine",
                "message": "",
                "hint": "",
                "retryable": True,
            }
        },
        {"try": 0},
        {"sample": 0},
        {"kind": "other"},
        {"surplus": 1},
        {"format": "scorehost.result/3"},
    ],
)
def test_a_result_that_contradicts_itself_is_refused(change):
    read_result(second_with())
    with pytest.raises(ValidationError):
        read_result(second_with(**change))


@pytest.mark.parametrize("change", [{"score": None}, {"status": "ERROR"}, {"surplus": 1}, {"status": "pass"}])
def test_so_is_one_of_the_first_format(change):
    read_result(first_with())
    with pytest.raises(ValidationError):
        read_result(first_with(**change))


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b'{"format": 1}', b'{"format": "scorehost.result/1"}', b"\xff"]
)
def test_what_is_no_result_is_refused(data):
    with pytest.raises(ValidationError):
        read_result(data)


def test_where_no_host_ran_engine_and_scoring_digests_are_null():
    versions = {"scorehost": "0", "engine": None, "kernel": None, "runtime": None, "architecture": None}
    roles = {"judge": "sha256:1"}
    scoring = dict.fromkeys(("task", "evaluator", "gold", "gold_key", "limits", "sdk"))
    digests = {"scoring": {**scoring, "images": {}, "roles": roles}, "submission": None, "operational": {}}
    result = read_result(second_with(kind="quality", versions=versions, digests=digests))
    assert result.versions.engine is None
    assert result.digests.scoring is not None
    assert not result.digests.scoring.first


def test_free_ids_stay_whole_in_a_result_and_its_folder_has_names_for_them():
    result = read_result(second_with(kind="quality", task_id="Eval 1", submission="org/model"))
    assert (result.task_id, result.submission) == ("Eval 1", "org/model")
    assert result.key.submission == "org-model-c87c0c64"  # printf org/model | sha256sum
    score = read_result(second_with(submission="Team-A"))
    assert str(score.key) == "t/Team-A/1.2"
