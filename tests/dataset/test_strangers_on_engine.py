"""Tasks in the shapes of six public formats: solutions, wrong and hostile hand-ins, in one job."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from given import given
from scorehost import api

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
DATASET = Path(__file__).parents[2] / "examples" / "strangers"
FAULT = ("ERROR", None, "submission_fault")
# Scores by hand: points of the tests passed over all points; RMSE of (0, 0, 3) and of (0, -10, -20).
EXPECTED = {
    ("gradescope", "solution"): ("PASS", 1.0, None),
    ("gradescope", "wrong-wrong"): ("FAIL", 1 / 5, None),  # 1 + 2 alone
    ("gradescope", "wrong-hostile"): ("FAIL", 0.0, None),
    ("prairielearn", "solution"): ("PASS", 1.0, None),
    ("prairielearn", "wrong-wrong"): ("FAIL", 3 / 4, None),  # a window of one, and nothing
    ("prairielearn", "wrong-hostile"): ("FAIL", 0.0, None),
    ("domjudge", "solution"): ("PASS", 1.0, None),
    ("domjudge", "wrong-wrong"): ("FAIL", 0.0, None),
    ("domjudge", "wrong-hostile"): ("FAIL", 0.0, None),
    ("otter", "solution"): ("PASS", 1.0, None),
    ("otter", "wrong-wrong"): ("FAIL", 0.0, None),  # each question has a case that fails
    ("otter", "wrong-hostile"): ("FAIL", 0.0, None),
    ("mlebench", "solution"): ("SCORED", 3**0.5, None),
    ("mlebench", "wrong-wrong"): ("SCORED", (500 / 3) ** 0.5, None),
    ("mlebench", "wrong-hostile"): FAULT,
    ("codabench", "solution"): ("SCORED", 1.0, None),
    ("codabench", "wrong-wrong"): ("SCORED", 3 / 4, None),
    ("codabench", "wrong-hostile"): FAULT,
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    asked = given(
        dataset=DATASET,
        out=tmp_path_factory.mktemp("strangers") / "runs",
        submissions=("solution", "wrong:wrong", "wrong:hostile"),
    )
    return anyio.run(api.run, *asked, lambda _: None)


@pytest.mark.parametrize("task", sorted({task for task, _ in EXPECTED}))
def test_solution_wrong_and_hostile_get_what_they_deserve(outcome, task):
    told = {
        row.key.submission: (row.status, row.score, None if row.error is None else row.error.kind)
        for row in outcome.rows
        if row.key.task_id == task
    }
    wanted = {name: row for (owner, name), row in EXPECTED.items() if owner == task}
    assert {name: row[::2] for name, row in told.items()} == {name: row[::2] for name, row in wanted.items()}
    assert [told[name][1] for name in wanted] == [pytest.approx(row[1]) for row in wanted.values()]


def test_what_breaks_a_minimised_task_counts_as_its_worst_score(outcome):
    groups = outcome.summary["submissions"]
    assert groups["wrong-hostile"]["errors_as_lowest"] == 2
    assert outcome.summary["tasks"]["mlebench"]["bounds"]["upper"] == pytest.approx(
        (3**0.5 + (500 / 3) ** 0.5 + 1000) / 3
    )
    assert outcome.summary["direction"] == "mixed"


@pytest.mark.parametrize(
    ("task", "path", "original"),
    [
        ("codabench", "lib/scoring.py", "scoring.py"),
        ("domjudge", "lib/compare.py", "output_validators/compare/compare.py"),
        ("otter", "evaluation/q1.py", "tests/q1.py"),
        ("prairielearn", "evaluation/ans.py", "ans.py"),
    ],
)
def test_what_only_reads_data_is_carried_over_unchanged(task, path, original):
    folder = DATASET / "tasks" / task
    assert (folder / path).read_bytes() == (folder / "original" / original).read_bytes()
