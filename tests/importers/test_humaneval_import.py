"""What `import humaneval` writes, and how its evaluator judges, without an engine."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from forgeries import HUMANEVAL, Problem, problems

from scorehost.errors import SpecError, UsageError
from scorehost.importers import humaneval_evaluator
from scorehost.importers.humaneval import import_humaneval
from scorehost.spec.loading import load_dataset
from scorehost_sdk import HostLost, SubmissionFault

needs_data = pytest.mark.skipif(not HUMANEVAL.exists(), reason="the HumanEval file is not on this machine")

DOUBLE = Problem(
    task_id="humaneval-7",
    source_id="HumanEval/7",
    entry_point="double",
    prompt="def double(x):\n",
    canonical="def double(x):\n    return 2 * x\n",
    test="def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n",
)


def row(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": "HumanEval/7",
        "prompt": "def double(x):\n",
        "entry_point": "double",
        "canonical_solution": "    return 2 * x\n",
        "test": DOUBLE.test,
        **changes,
    }


def jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    return path


def test_problems_are_read_in_every_form_that_predictions_are(tmp_path):
    for number, data in enumerate(
        (b"\xef\xbb\xbf" + json.dumps(row()).encode(), json.dumps([row()], indent=2).encode())
    ):
        (tmp_path / f"{number}.json").write_bytes(data)
        assert import_humaneval(tmp_path / f"{number}.json", tmp_path / f"out{number}") == 1


def test_a_row_becomes_a_task_with_gold_a_solution_and_its_source_id(tmp_path):
    assert import_humaneval(jsonl(tmp_path / "in.jsonl", row()), tmp_path / "out") == 1
    dataset = load_dataset(tmp_path / "out")
    task = dataset.tasks["humaneval-7"]
    assert task.spec.metadata == {"source_id": "HumanEval/7", "prompt_file": "data/prompt.py"}
    assert [(artifact.id, artifact.path) for artifact in task.spec.artifacts] == [
        ("solution", "artifacts/solution.py")
    ]
    folder = tmp_path / "out" / "tasks" / "humaneval-7"
    assert (folder / "evaluation" / "test.py").read_text() == DOUBLE.test
    assert (folder / "evaluation" / "canonical.py").read_text() == DOUBLE.canonical
    assert (folder / "solution" / "artifacts" / "solution.py").read_text() == DOUBLE.canonical


def test_the_host_that_runs_submitted_code_gets_no_gold(tmp_path):
    import_humaneval(jsonl(tmp_path / "in.jsonl", row()), tmp_path / "out")
    spec = load_dataset(tmp_path / "out").tasks["humaneval-7"].spec
    assert [(name, host.gold) for name, host in spec.evaluation.environments.items()] == [("sandbox", False)]


def test_gzip_is_read_whatever_the_file_is_called(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(gzip.compress(json.dumps(row()).encode()))
    assert import_humaneval(tmp_path / "in.jsonl", tmp_path / "out") == 1


def test_the_licence_of_the_problems_is_told(tmp_path):
    import_humaneval(jsonl(tmp_path / "in.jsonl", row()), tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "MIT" in text
    assert "Copyright (c) OpenAI" in text


@pytest.mark.parametrize(
    ("bad", "key"),
    [
        (row(task_id="../../etc/7"), "task_id"),
        (row(task_id="HumanEval/7/8"), "task_id"),
        (row(entry_point="a b"), "entry_point"),
        (row(test=None), "test"),
        (row(test="def check(:"), "test"),
        (row(canonical_solution="   return ("), "canonical_solution"),
        (row(prompt="\0"), "canonical_solution"),
    ],
)
def test_a_bad_row_is_named_by_line_and_key_and_nothing_is_written(tmp_path, bad, key):
    file = jsonl(tmp_path / "in.jsonl", row(task_id="HumanEval/1"), bad)
    with pytest.raises(SpecError) as caught:
        import_humaneval(file, tmp_path / "out")
    assert [(problem.line, problem.key) for problem in caught.value.problems] == [(2, key)]
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_task_that_stands_twice_is_refused(tmp_path):
    file = jsonl(tmp_path / "in.jsonl", row(), row())
    with pytest.raises(SpecError, match=r"in\.jsonl:2:1: task_id: stands twice"):
        import_humaneval(file, tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bnot gzip", b"\n\n"])
def test_a_file_without_rows_is_refused(tmp_path, content):
    (tmp_path / "in.jsonl").write_bytes(content)
    with pytest.raises(UsageError):
        import_humaneval(tmp_path / "in.jsonl", tmp_path / "out")


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        import_humaneval(jsonl(tmp_path / "in.jsonl", row()), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_nothing_of_the_file_is_run(tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    import_humaneval(
        jsonl(tmp_path / "in.jsonl", row(test=trap, prompt=trap + "def double(x):\n")), tmp_path / "out"
    )
    assert not (tmp_path / "ran").exists()


class Judge:
    """Runs the evaluator on one problem, the submitted function being `function` in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch

    def __call__(self, problem: Problem, function: Any, *, handed_in: bool = True) -> tuple[str, str]:
        self.monkeypatch.setattr(humaneval_evaluator, "untrusted", lambda *_, **__: function)
        (self.folder / "canonical.py").write_text(problem.canonical, "utf-8")
        (self.folder / "test.py").write_text(problem.test, "utf-8")
        result = humaneval_evaluator.evaluate(
            {
                "evaluation_dir": str(self.folder),
                "artifacts": {"solution": "/attempt/artifacts/solution.py"} if handed_in else {},
                "parameters": {"entry_point": problem.entry_point, "call_seconds": 5, "total_seconds": 60},
                "task": {"seed": 1},
                "scoring": None,
            }
        )
        (check,) = result["checks"]
        assert result["score"] == (1.0 if result["status"] == "PASS" else 0.0)
        return result["status"], check["id"]


@pytest.fixture
def judge(tmp_path, monkeypatch):
    return Judge(tmp_path, monkeypatch)


def raising(error: Exception) -> Any:
    def function(*_: Any) -> Any:
        raise error

    return function


def test_a_right_function_passes(judge):
    assert judge(DOUBLE, lambda x: x + x) == ("PASS", "test")


def test_a_wrong_answer_fails(judge):
    assert judge(DOUBLE, lambda x: x + 2) == ("FAIL", "wrong-answer")


def test_nothing_handed_in_fails(judge):
    assert judge(DOUBLE, lambda x: 2 * x, handed_in=False) == ("FAIL", "missing")


def test_a_broken_call_fails_with_a_check_that_names_it(judge):
    assert judge(DOUBLE, raising(SubmissionFault("it ended"))) == ("FAIL", "submission-fault")


def test_a_test_that_catches_everything_does_not_hide_a_broken_call(judge):
    test = "def check(candidate):\n    try:\n        candidate(2)\n    except Exception:\n        pass\n"
    lenient = Problem(**{**vars(DOUBLE), "test": test})
    assert judge(lenient, raising(SubmissionFault("it ended"))) == ("FAIL", "submission-fault")


@pytest.mark.parametrize("error", [AssertionError("ok"), ValueError("x"), RecursionError(), MemoryError()])
def test_what_the_submitted_function_raises_is_no_pass(judge, error):
    assert judge(DOUBLE, raising(error)) == ("FAIL", "raised")


def test_a_value_that_the_test_cannot_use_fails(judge):
    problem = Problem("humaneval-1", "HumanEval/1", "double", "", DOUBLE.canonical, "")
    test = "import math\ndef check(candidate):\n    assert math.fabs(candidate(2) - 4) < 1e-6\n"
    assert judge(Problem(**{**vars(problem), "test": test}), lambda _: "4") == ("FAIL", "wrong-answer")


def test_what_the_machinery_raises_is_not_the_submissions_fault(judge):
    with pytest.raises(HostLost):
        judge(DOUBLE, raising(HostLost("gone")))


def test_a_test_that_fails_its_own_canonical_solution_judges_nobody(judge):
    wrong = Problem(**{**vars(DOUBLE), "test": "def check(candidate):\n    assert candidate(2) == 5\n"})
    with pytest.raises(humaneval_evaluator.DefectiveTestError):
        judge(wrong, lambda _: 4)


def test_a_test_that_calls_nothing_passes_nobody(judge):
    empty = Problem(**{**vars(DOUBLE), "test": "def check(candidate):\n    assert True\n"})
    with pytest.raises(humaneval_evaluator.DefectiveTestError):
        judge(empty, lambda x: 2 * x)


def test_helpers_of_a_test_come_from_the_canonical_solution(judge):
    helped = Problem(
        **{
            **vars(DOUBLE),
            "canonical": "def half(x):\n    return x / 2\n\n\n" + DOUBLE.canonical,
            "test": "def check(candidate):\n    assert half(candidate(3)) == 3\n",
        }
    )
    assert judge(helped, lambda x: 2 * x) == ("PASS", "test")


def test_random_inputs_of_a_test_are_the_same_each_time(judge):
    drawn: list[int] = []
    test = "from random import randint\ndef check(candidate):\n    candidate(randint(0, 10 ** 9))\n"
    for _ in range(2):
        judge(Problem(**{**vars(DOUBLE), "test": test}), drawn.append)
    assert drawn[0] == drawn[1]


@pytest.mark.data
@needs_data
def test_all_164_problems_become_tasks(tmp_path):
    assert import_humaneval(HUMANEVAL, tmp_path / "out") == 164
    dataset = load_dataset(tmp_path / "out")
    assert sorted(dataset.tasks) == sorted(f"humaneval-{number}" for number in range(164))
    assert {task.spec.metadata["source_id"] for task in dataset.tasks.values()} == {
        f"HumanEval/{number}" for number in range(164)
    }


@pytest.mark.data
@needs_data
def test_every_canonical_solution_passes_and_no_constant_does(judge):
    constants = [None, True, False, 0, 1, "", [], (), {}, 0.0, 1j]
    for problem in problems().values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # unknown escapes in docstrings of the data
            warnings.simplefilter("ignore", DeprecationWarning)
            names: dict[str, Any] = {}
            exec(problem.canonical, names)  # noqa: S102  # the data's own solution
            assert judge(problem, names[problem.entry_point]) == ("PASS", "test"), problem.task_id
            for constant in constants:
                status, _ = judge(problem, lambda *_, constant=constant: constant)
                assert status == "FAIL", (problem.task_id, constant)
