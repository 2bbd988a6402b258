"""Mutated solutions: different from the solution, the same each time, few, and of every kind."""

from __future__ import annotations

import ast
import json

import pytest
from scripted_jobs import make_task

from scorehost.audit.attacks.kit import attacks
from scorehost.audit.mutants import mutants
from scorehost.audit.subject import subject_of
from scorehost.spec.task import Artifact

CODE = """\
def first(items, start):
    total = start - 1
    for item in items:
        if item > 3:
            total += item
    return (total, len(items))
"""


def subject(root, files, *, kind="file", media_type="application/octet-stream"):
    task = make_task(root, "t")
    for path, content in files.items():
        target = task.solution / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    (first, *_) = files
    path = "artifacts/tree" if kind == "tree" else first
    spec = task.spec.model_copy(
        update={"artifacts": (Artifact(id="a", path=path, kind=kind, media_type=media_type),)}
    )
    return subject_of(task.model_copy(update={"spec": spec}))


def test_json_is_mutated_in_a_value_a_key_a_type_and_the_order(tmp_path):
    value = {"names": ["a", "b", "c"], "count": 3, "open": True}
    made = mutants(subject(tmp_path, {"artifacts/a.json": json.dumps(value)}))
    details = " ".join(one.detail for one in made)
    for word in ("changed from", "dropped", "turned from", "in another order"):
        assert word in details
    parsed = [json.loads(one.files["artifacts/a.json"]) for one in made]
    assert value not in parsed


def test_code_stays_code_and_does_something_else(tmp_path):
    made = mutants(subject(tmp_path, {"artifacts/a.py": CODE}))
    texts = {one.files["artifacts/a.py"] for one in made}
    assert len(texts) == len(made) >= 6
    same = ast.dump(ast.parse(CODE))
    assert all(ast.dump(ast.parse(text)) != same for text in texts)


def test_lines_lose_one_change_one_and_exchange_two(tmp_path):
    text = "minute,celsius\n0,91.5\n5,80\n"
    made = mutants(subject(tmp_path, {"artifacts/a.csv": text}))
    found = {one.files["artifacts/a.csv"].decode() for one in made}
    assert text not in found
    assert any(sorted(one.splitlines()) == sorted(text.splitlines()) for one in found)  # the order alone
    assert any(len(one.splitlines()) == 2 for one in found)
    assert any("many" in one for one in found)


def test_a_tree_loses_renames_exchanges_and_empties_files(tmp_path):
    files = {"artifacts/tree/a.txt": "one 1\n", "artifacts/tree/b/c.txt": "two 2\n"}
    made = mutants(subject(tmp_path, files, kind="tree"))
    shapes = [set(one.files) for one in made]
    assert any(len(shape) == 1 for shape in shapes)
    assert any(path.endswith(".moved") for shape in shapes for path in shape)
    assert any(b"" in one.files.values() for one in made)
    exchanged = {"artifacts/tree/a.txt": b"two 2\n", "artifacts/tree/b/c.txt": b"one 1\n"}
    assert exchanged in [dict(one.files) for one in made]


def test_they_are_the_same_every_time_and_at_most_so_many(tmp_path):
    one = subject(tmp_path, {"artifacts/a.py": CODE})
    assert mutants(one) == mutants(one)
    assert mutants(one, seed="other") != mutants(one)
    assert len(mutants(one, most=3)) == 3


@pytest.mark.parametrize("content", [b"\x00\xff\x10", b"", b"{", b"\xff"])
def test_odd_files_give_other_files_or_none(tmp_path, content):
    made = mutants(subject(tmp_path, {"artifacts/a.json": content}))
    assert all(one.files["artifacts/a.json"] != content for one in made)


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["Rows: 1,\n", "2, 3\n"]},
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": [{"text": ["17,\n"]}],
            "source": ["def f(a):\n", "    b = a + 1\n", "    return b\n"],
        },
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_a_notebook_is_mutated_in_its_code_alone_and_attacked_as_no_table(tmp_path):
    whole = subject(tmp_path, {"artifacts/a.ipynb": json.dumps(NOTEBOOK, indent=1)})
    made = mutants(whole)
    assert len(made) >= 2
    for one in made:
        parsed = json.loads(one.files["artifacts/a.ipynb"])
        assert parsed["cells"][0] == NOTEBOOK["cells"][0]
        assert parsed["cells"][1]["source"] != NOTEBOOK["cells"][1]["source"]
        assert {**parsed["cells"][1], "source": []} == {**NOTEBOOK["cells"][1], "source": []}
    assert not {"not-a-number", "always-true", "wildcards"} & {one.name for one in attacks(whole)}


@pytest.mark.parametrize(
    ("text", "table"),
    [("minute,celsius\n0,91.5\n", True), ("3\n4\n", True), ("In 2024, we saw\n17, 18, and 19\n", False)],
)
def test_numbers_are_taken_out_of_tables_and_not_of_prose(tmp_path, text, table):
    names = {one.name for one in attacks(subject(tmp_path, {"artifacts/a.txt": text}))}
    assert ("not-a-number" in names) is table


def test_json_under_another_name_is_json(tmp_path):
    one = subject(tmp_path, {"artifacts/a.report": json.dumps({"n": 1}), "artifacts/b.txt": "[not json"})
    assert [file.language for file in one.files.values()] == ["json"]


def test_a_solution_that_lies_at_the_end_of_its_declared_path_is_mutated_at_that_path(tmp_path):
    task = make_task(tmp_path, "t")
    task.solution.mkdir(parents=True)
    (task.solution / "a.json").write_text('{"count": 3}')
    (task.solution / "tree").mkdir()
    (task.solution / "tree" / "b.json").write_text('{"count": 4}')
    artifacts = (
        Artifact(id="a", path="artifacts/a.json"),
        Artifact(id="t", path="artifacts/tree", kind="tree"),
    )
    spec = task.spec.model_copy(update={"artifacts": artifacts})
    found = subject_of(task.model_copy(update={"spec": spec}))
    assert {path: file.content for path, file in found.files.items()} == {
        "artifacts/a.json": b'{"count": 3}',
        "artifacts/tree/b.json": b'{"count": 4}',
    }
