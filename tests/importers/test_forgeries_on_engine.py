"""HumanEval on a real engine: no forged submission passes, and honest ones that look odd do."""

from __future__ import annotations

import anyio
import pytest
from forgeries import FORGERIES, HONEST, HUMANEVAL, problems, write

from given import given
from scorehost import api
from scorehost.importers.humaneval import import_humaneval

pytestmark = [
    pytest.mark.docker,
    pytest.mark.data,
    pytest.mark.skipif(not HUMANEVAL.exists(), reason="the HumanEval file is not on this machine"),
]

# A test that compares within a tolerance; one that draws random inputs and uses a helper; a plain one.
CHOSEN = ("humaneval-4", "humaneval-38", "humaneval-35")


@pytest.fixture
def dataset(tmp_path):
    import_humaneval(HUMANEVAL, tmp_path / "humaneval")
    return tmp_path / "humaneval"


def verdicts(dataset, tmp_path, submissions, tasks):
    known = problems()
    write(tmp_path / "hand-ins", submissions, [known[task] for task in tasks])
    options = given(
        dataset=dataset, out=tmp_path / "runs", tasks=tasks, submissions_dir=tmp_path / "hand-ins"
    )
    outcome = anyio.run(api.run, *options, lambda _: None)
    return {(row.key.submission, row.key.task_id): row for row in outcome.rows}


def test_no_forged_submission_passes_and_none_becomes_an_error(dataset, tmp_path):
    rows = verdicts(dataset, tmp_path, FORGERIES, CHOSEN[:2])
    assert set(rows) == {(name, task) for name in FORGERIES for task in CHOSEN[:2]}
    assert {key: (row.status, row.reason) for key, row in rows.items() if row.status != "FAIL"} == {}


def test_right_submissions_that_are_slow_or_loud_or_deep_pass(dataset, tmp_path):
    rows = verdicts(dataset, tmp_path, HONEST, CHOSEN)
    assert set(rows) == {(name, task) for name in HONEST for task in CHOSEN}
    assert {key: (row.status, row.reason) for key, row in rows.items() if row.status != "PASS"} == {}


def test_solutions_pass_and_an_empty_hand_in_fails(dataset, tmp_path):
    options = given(dataset=dataset, out=tmp_path / "runs", tasks=CHOSEN, submissions=("solution", "empty"))
    outcome = anyio.run(api.run, *options, lambda _: None)
    found = sorted((row.key.submission, row.status) for row in outcome.rows)
    assert found == [("empty", "FAIL")] * 3 + [("solution", "PASS")] * 3
