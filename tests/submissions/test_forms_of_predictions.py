"""Predictions as people have them: other encodings and layouts, keys of published formats; bounded."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc

import pytest

from scorehost.errors import SpecError, UsageError
from scorehost.spec.task import Artifact
from scorehost.submissions import rows as rows_module
from scorehost.submissions.predictions import read_predictions
from submissions.packing import ANSWER, dataset_of, found

MIB = 1024 * 1024
ROWS = [{"task_id": "a", "answer": "é1"}, {"task_id": "b", "answer": "2"}, {"task_id": "a", "answer": "3"}]
READ = {"a": ["é1", "3"], "b": ["2"]}


@pytest.fixture
def dataset(tmp_path):
    return dataset_of(tmp_path, a=(ANSWER,), b=(ANSWER,))


def lines(rows=ROWS):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def texts(read):
    return {task: [sample.texts["answer"] for sample in samples] for task, samples in read.samples.items()}


FORMS = {
    "plain": lines().encode(),
    "crlf": lines().replace("\n", "\r\n").encode(),
    "no last newline": lines().rstrip().encode(),
    "blank lines": lines().replace("\n", "\n\n \n").encode(),
    "bom": b"\xef\xbb\xbf" + lines().encode(),
    "utf-16 le": lines().encode("utf-16"),
    "utf-16 be": b"\xfe\xff" + lines().encode("utf-16-be"),
    "array": json.dumps(ROWS).encode(),
    "indented array": json.dumps(ROWS, indent=4).encode(),
    "indented array with bom": b"\xef\xbb\xbf\n" + json.dumps(ROWS, indent=2).encode(),
    "array in utf-16": json.dumps(ROWS, indent=2).encode("utf-16"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_read_in_every_form(tmp_path, dataset, form, packed):
    path = tmp_path / "p.jsonl"  # also where gzip is not told by the name
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    read = read_predictions(path, dataset)
    assert (texts(read), read.warnings) == (READ, ())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            '{"task_id": "a", "answer": "Mü"}'.encode("latin-1"),
            "p.jsonl:1:1: not UTF-8, from byte 30 on. A row",
        ),
        (lines().encode("utf-16-le"), "p.jsonl:1:1: not UTF-8, from byte "),
        (json.dumps(ROWS[0], indent=2).encode(), "p.jsonl:1:1: not JSON: "),
        (b"task_id,answer\na,1\n", "p.jsonl:1:1: not JSON: "),
        (b"7\n7\n", "p.jsonl:1:1: a row must be an object. A row"),
    ],
)
def test_what_is_no_row_is_told_once_what_a_row_is_and_in_which_forms_rows_come(
    tmp_path, dataset, data, said
):
    path = tmp_path / "p.jsonl"
    path.write_bytes(data)
    with pytest.raises(SpecError) as raised:
        read_predictions(path, dataset)
    told = "\n".join(str(problem) for problem in raised.value.problems)
    assert said in told
    form = (
        'A row is {"task_id": …, "<artifact id>": "text"}; one stands on each line, or all in one JSON array'
    )
    assert told.count(form) == 1


def test_a_bad_row_of_an_array_is_named_by_its_place(tmp_path, dataset):
    path = tmp_path / "p.json"
    path.write_text(json.dumps([*ROWS, {"task_id": "a", "answer": 5}, 7]))
    with pytest.raises(SpecError) as raised:
        read_predictions(path, dataset)
    assert str(raised.value).splitlines() == [
        f"{path}: [3].answer: must be text",
        f"{path}: [4]: a row must be an object",
    ]


def one(tmp_path, dataset, *rows):
    path = tmp_path / "p.jsonl"
    path.write_text(lines(rows))
    return read_predictions(path, dataset)


def test_keys_that_are_no_artifacts_are_counted_and_said_and_not_read(tmp_path, dataset):
    read = one(
        tmp_path,
        dataset,
        {"task_id": "a", "answer": "1", "model": "m", "tokens": 7},
        {"task_id": "b", "answer": "2", "model": "m", "logprobs": [0.5] * 1000},
    )
    assert texts(read) == {"a": ["1"], "b": ["2"]}
    (said,) = read.warnings
    told = said.removeprefix("keys of rows that are no artifacts are not read: ")
    assert told == "'model' (2 rows), 'tokens' (1 row), 'logprobs' (1 row)."


def test_of_very_many_keys_that_are_no_artifacts_a_thousand_are_counted_one_by_one(tmp_path, dataset):
    rows = [{"task_id": "a", "answer": "x", **{f"{n}.{key}": 0 for key in range(600)}} for n in range(4)]
    (tmp_path / "p.jsonl").write_text(lines(rows))
    (said,) = read_predictions(tmp_path / "p.jsonl", dataset).warnings
    assert "'…' (1400 rows), '0.0' (1 row)" in said
    assert said.endswith(" and 996 more.")


def test_a_misspelt_artifact_is_no_key_to_leave_out(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER, Artifact(id="reason", path="artifacts/reason.txt")))
    with pytest.raises(SpecError, match=r"Did you mean reason\?"):
        one(tmp_path, dataset, {"task_id": "a", "answer": "1", "reasons": "2"})


def test_rows_of_unknown_tasks_are_counted_and_said(tmp_path, dataset):
    read = one(tmp_path, dataset, *ROWS, {"task_id": "c", "answer": "1"}, {"task_id": "aa", "answer": "1"})
    assert texts(read) == READ
    assert read.warnings[0].startswith("2 rows are for 2 tasks that the dataset has not, such as 'c'")
    with pytest.raises(UsageError, match="no row for any task of the dataset: 1 row is for others"):
        one(tmp_path, dataset, {"task_id": "elsewhere", "answer": "1"})


def test_instance_id_is_the_tasks_id_where_there_is_no_task_id(tmp_path, dataset):
    read = one(tmp_path, dataset, {"instance_id": "a", "answer": "1"})
    assert texts(read) == {"a": ["1"]}
    with pytest.raises(SpecError, match="task_id: must be there, as text"):
        one(tmp_path, dataset, {"answer": "1"})


def with_prompt(tmp_path, **metadata):
    dataset = dataset_of(tmp_path, a=(Artifact(id="solution", path="artifacts/solution.py"),))
    task = dataset.tasks["a"]
    (task.folder / "data").mkdir(exist_ok=True)
    (task.folder / "data" / "prompt.py").write_text("def f(x):\n")
    spec = task.spec.model_copy(update={"metadata": {"source_id": "HumanEval/0", **metadata}})
    return dataset.model_copy(update={"tasks": {"a": task.model_copy(update={"spec": spec})}})


def test_a_completion_is_put_after_the_prompt_that_the_task_names(tmp_path):
    dataset = with_prompt(tmp_path, prompt_file="data/prompt.py")
    read = one(tmp_path, dataset, {"task_id": "HumanEval/0", "completion": "    return x\n"})
    assert [sample.texts for sample in read.samples["a"]] == [{"solution": "def f(x):\n    return x\n"}]
    (tmp_path / "p2.jsonl").write_text(lines([{"task_id": "a", "solution": "whole"}]))
    assert read_predictions(tmp_path / "p2.jsonl", dataset).samples["a"][0].texts == {"solution": "whole"}


@pytest.mark.parametrize(
    "metadata", [{}, {"prompt_file": "../x"}, {"prompt_file": "none.py"}, {"prompt_file": 3}]
)
def test_a_completion_without_its_prompt_is_never_renamed_to_what_it_is_not(tmp_path, metadata):
    dataset = with_prompt(tmp_path, **metadata)
    with pytest.raises(SpecError, match="completion: is what follows a prompt") as raised:
        one(tmp_path, dataset, {"task_id": "a", "completion": "    return x\n"})
    assert "Did you mean" not in str(raised.value)
    assert "prompt_file" in str(raised.value)


def test_what_was_completed_is_bound_by_what_it_holds(tmp_path):
    dataset = with_prompt(tmp_path, prompt_file="data/prompt.py")
    (tmp_path / "p.jsonl").write_text(lines([{"task_id": "a", "completion": "    return x\n"}]))
    (plain,), _ = found(tmp_path, dataset, predictions=tmp_path / "p.jsonl")
    assert plain.record.digest is None  # then it is taken of the samples


def test_a_model_patch_is_the_patch_that_a_task_asks_for_and_nothing_else(tmp_path, dataset):
    patch = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "--- a\n+++ b\n"}
    with pytest.raises(
        SpecError, match="model_patch: is a change of files, and the task a asks for no single patch"
    ):
        one(tmp_path, dataset, patch)
    asks = dataset_of(tmp_path, a=(Artifact(id="change", path="artifacts/change.diff"),))
    read = one(tmp_path, asks, patch)
    assert read.samples["a"][0].texts == {"change": "--- a\n+++ b\n"}
    assert read.warnings == (
        "keys of rows that are no artifacts are not read: 'model_name_or_path' (1 row).",
    )


# --- bounds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["", '{"task_id": "a", "answer": "1", "x": ['])
def test_a_line_of_very_many_values_costs_neither_memory_nor_time(tmp_path, dataset, start):
    path = tmp_path / "p.jsonl"
    path.write_text(start + "[]," * (20 * MIB) + "[]\n")
    tracemalloc.start()
    begun = time.monotonic()
    with pytest.raises(SpecError, match=r"more than (200000|1000000) values"):
        read_predictions(path, dataset)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400 * MIB  # the line itself a few times; 1.7 GiB before
    assert time.monotonic() - begun < 20


def test_a_text_of_very_many_commas_is_one_value(tmp_path, dataset):
    text = '[1,2],{"x":3},\\' * 200_000
    assert texts(one(tmp_path, dataset, {"task_id": "a", "answer": text})) == {"a": [text]}


@pytest.mark.parametrize("blank", [b"\n", b" " * 1000 + b"\n"])
def test_blank_lines_count_into_what_a_file_may_hold(tmp_path, dataset, monkeypatch, blank):
    monkeypatch.setattr(rows_module, "MAX_LINES", 1000)
    monkeypatch.setattr(rows_module, "MAX_TEXT_BYTES", 100_000)
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(blank * 2000))
    with pytest.raises(UsageError, match=r"more than (1000 lines|100000 bytes)"):
        read_predictions(tmp_path / "p.jsonl.gz", dataset)


def test_an_array_may_have_the_bytes_of_a_line(tmp_path, dataset, monkeypatch):
    monkeypatch.setattr(rows_module, "MAX_LINE_BYTES", 1000)
    (tmp_path / "p.json").write_text(json.dumps([{"task_id": "a", "answer": "x" * 100}] * 20, indent=1))
    with pytest.raises(UsageError, match="one JSON array of more than 1000 bytes") as raised:
        read_predictions(tmp_path / "p.json", dataset)
    assert "JSON lines" in raised.value.hint
