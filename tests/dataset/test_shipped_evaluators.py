"""The shipped evaluators judge rightly and never blame a malformed submission on themselves."""

from __future__ import annotations

import asyncio
import inspect
import json
import shutil
from pathlib import Path

import local_scoring
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_scoring import ARTIFACTS, ROOT, TASKS, Ran

NAMES = sorted(ARTIFACTS)
WRONG = sorted(str(path.relative_to(TASKS)) for path in TASKS.glob("*/solution-wrong/*") if path.is_dir())


@pytest.fixture(autouse=True)
def _shared_code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def gold(tmp_path):
    """The gold set of a task as a host shows it, the dataset's own laid under it."""

    def lay(task: str) -> Path:
        folder = tmp_path / "evaluation" / task
        if not folder.exists():
            shutil.copytree(TASKS / task / "evaluation", folder)
            shutil.copytree(ROOT / "evaluation", folder, dirs_exist_ok=True)
        return folder

    return lay


def judge(task, submission, gold_folder, *, instead=None):
    parameters = yaml.safe_load((TASKS / task / "task.yaml").read_text()).get("parameters", {})
    given_inputs = local_scoring.inputs(task, submission, gold_folder, parameters)
    given_inputs["scoring"].instead = instead
    result = local_scoring.evaluator(task).evaluate(given_inputs)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    return local_scoring.strict(result), given_inputs["scoring"]


def first_failure(result):
    return next(check["id"] for check in result["checks"] if check["status"] == "FAIL")


def test_the_tests_know_every_shipped_task():
    assert sorted(path.name for path in TASKS.iterdir()) == NAMES


@pytest.mark.parametrize("task", NAMES)
def test_the_shipped_solution_passes(task, gold):
    result, _ = judge(task, TASKS / task / "solution", gold(task))
    assert result["status"] == "PASS"
    assert result.get("score", 1.0) == 1.0


@pytest.mark.parametrize("task", NAMES)
def test_an_empty_submission_fails_with_a_public_reason(task, gold):
    result, _ = judge(task, None, gold(task))
    assert (result["status"], result["score"]) == ("FAIL", 0.0)
    assert [(check["status"], check["visibility"]) for check in result["checks"]] == [("FAIL", "public")]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_shipped_wrong_solution_fails_as_it_says(wrong, gold):
    task = wrong.split("/")[0]
    expected = yaml.safe_load((TASKS / wrong / "expect.yaml").read_text())
    result, _ = judge(task, TASKS / wrong, gold(task))
    assert (result["status"], first_failure(result)) == (expected["status"], expected["check"])
    assert result.get("score", 0.0) <= expected["max_score"]


@pytest.mark.parametrize("task", NAMES)
def test_every_task_ships_a_wrong_solution_with_an_expectation(task):
    wrong = [path for path in (TASKS / task / "solution-wrong").iterdir() if path.is_dir()]
    assert wrong
    assert all((path / "expect.yaml").is_file() for path in wrong)


def test_a_failed_audit_starts_no_verification(gold):
    wrong = TASKS / "session-audit" / "solution-wrong" / "unbalanced"
    result, scoring = judge("session-audit", wrong, gold("session-audit"))
    assert scoring.execs == [("audit", "ledger-audit")]
    assert [check["id"] for check in result["checks"]] == ["audit"]


def test_a_passed_audit_is_followed_by_the_verification(gold):
    _, scoring = judge("session-audit", TASKS / "session-audit" / "solution", gold("session-audit"))
    assert scoring.execs == [("audit", "ledger-audit"), ("verification", "claim-verify")]


@pytest.mark.parametrize("task", ["session-audit", "rpn-program"])
def test_a_program_that_is_not_there_is_no_verdict(task, gold):
    with pytest.raises(RuntimeError, match="did not run"):
        judge(task, TASKS / task / "solution", gold(task), instead=Ran(127))


@pytest.mark.parametrize("told", [Ran(124, timed_out=True), Ran(137, oom_killed=True)])
@pytest.mark.parametrize("task", ["session-audit", "rpn-program"])
def test_a_submission_that_ends_its_host_fails(task, told, gold):
    result, _ = judge(task, TASKS / task / "solution", gold(task), instead=told)
    assert (result["status"], result["score"]) == ("FAIL", 0.0)


@pytest.mark.parametrize(
    ("points_right", "status", "score"),
    [(10, "PASS", 1.0), (9, "PASS", 0.9), (8, "FAIL", 0.8), (0, "FAIL", 0.0)],
)
def test_the_curves_score_is_the_share_within_tolerance(points_right, status, score, gold, tmp_path):
    folder = gold("cooling-curve")
    header, *rows = (folder / "truth.csv").read_text().splitlines()
    shifted = [
        row if index < points_right else f"{row.split(',')[0]},{float(row.split(',')[1]) + 1:.3f}"
        for index, row in enumerate(rows)
    ]
    path = tmp_path / "submission" / "artifacts" / "predictions.csv"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([header, *shifted]))
    result, _ = judge("cooling-curve", tmp_path / "submission", folder)
    assert (result["status"], result["score"]) == (status, score)
    # every shifted point is off by 1 °C: rmse = sqrt(share that is off)
    assert result["metrics"]["rmse"] == pytest.approx(((10 - points_right) / 10) ** 0.5, abs=1e-9)


def test_a_submission_that_quotes_the_canary_fails(gold, tmp_path):
    folder = gold("sort-notes")
    shutil.copytree(TASKS / "sort-notes" / "solution", tmp_path / "submission")
    note = tmp_path / "submission" / "artifacts" / "notes" / "2024" / "11" / "boiler.md"
    note.write_bytes(note.read_bytes() + (folder / "canary.txt").read_bytes())
    result, _ = judge("sort-notes", tmp_path / "submission", folder)
    assert {"gold-unseen", "changed"} == {
        check["id"] for check in result["checks"] if check["status"] == "FAIL"
    }


@pytest.mark.parametrize(
    "change",
    [
        {"fee": 0},
        {"places": 12.0},
        {"places": True},
        {"contact": None},
        {"extra": 1},
    ],
)
def test_facts_of_another_type_or_too_many_fail(change, gold, tmp_path):
    facts = json.loads((TASKS / "extract-facts" / "solution" / "artifacts" / "facts.json").read_text())
    path = tmp_path / "submission" / "artifacts" / "facts.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**facts, **change}))
    result, _ = judge("extract-facts", tmp_path / "submission", gold("extract-facts"))
    assert result["status"] == "FAIL"


NASTY = [
    b"",
    b"\xff\xfe",
    b"null",
    b"[]",
    b"[" * 5_000,
    b'{"a":1,"a":2}',
    b'{"fee": NaN}',
    b'{"places": ' + b"9" * 6_000 + b"}",
    b'{"room": "\\ud800"}',
    b"minute,celsius\n1,nan\n",
    b"minute,celsius\n1\n",
    b'minute,celsius\n"1',
    b'{"entries": [[]], "closing": {}}',
    b'{"entries": [], "closing": {"cash": true}}',
    b"x" * 300_000,
]


@pytest.mark.parametrize("data", NASTY, ids=lambda data: repr(data[:20]))
@pytest.mark.parametrize(
    "task", ["extract-facts", "cooling-curve", "session-audit", "rpn-program", "shift-hours"]
)
def test_a_malformed_submission_fails_and_raises_nothing(task, data, gold, tmp_path):
    path = tmp_path / "submission" / ARTIFACTS[task][1]
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    result, _ = judge(task, tmp_path / "submission", gold(task))
    assert result["status"] == "FAIL"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
@pytest.mark.parametrize("task", ["extract-facts", "cooling-curve"])
def test_any_bytes_get_a_verdict(task, data, gold, tmp_path):
    path = tmp_path / "submission" / ARTIFACTS[task][1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    result, _ = judge(task, tmp_path / "submission", gold(task))
    assert result["status"] == "FAIL"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(books=st.fixed_dictionaries({"entries": st.lists(JSON, max_size=3), "closing": JSON}) | JSON)
def test_the_audit_refuses_any_books_that_are_none(books, tmp_path):
    audit = TASKS / "session-audit" / "environment" / "evaluate" / "audit" / "ledger-audit"
    names = {"__name__": "ledger_audit"}
    exec(compile(audit.read_text(), str(audit), "exec"), names)  # noqa: S102  # a program without a suffix
    (tmp_path / "books.json").write_text(json.dumps(books))
    assert names["main"](str(tmp_path / "books.json")) == 1
