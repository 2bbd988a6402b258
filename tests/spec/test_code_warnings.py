"""What `check` says of an evaluator that cannot work, before anything is started."""

from __future__ import annotations

import pytest

from scorehost.api import check

GOOD = "def evaluate(inputs):\n    return {'status': 'PASS'}\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (GOOD, None),
        ("async def evaluate(inputs):\n    return {}\n", None),
        ("from lib.judge import judge as evaluate\n", None),
        ("from lib.judge import *\n", None),
        ("evaluate = lambda inputs: {}\n", None),
        ("try:\n    from lib.fast import evaluate\nexcept ImportError:\n    evaluate = None\n", None),
        ('TEXT = "\\d"\n' + GOOD, None),  # Python warns of this one by itself; nobody asked
        ("def evaluate(inputs)\n    pass\n", ":1:21: this Python cannot read it: expected ':'"),
        ("x = (" * 5000, ": this Python cannot read it"),
        ("x = 1\0\n", ": this Python cannot read it"),
        (
            "def evalute(inputs):\n    return {}\n",
            ": nothing in it is called evaluate; write it, or name another by `evaluation.entrypoint`",
        ),
        ("", ": nothing in it is called evaluate; write it, or name another by `evaluation.entrypoint`"),
        ("import sqlite3\n" + GOOD, ":1: imports sqlite3; a database in a file needs"),
        (GOOD + "def late():\n    from sqlite3 import connect\n", ":4: imports sqlite3"),
        ("from lib.sqlite3 import thing\n" + GOOD, None),
    ],
)
def test_an_entry_file_that_cannot_work_is_a_warning(folder, recwarn, source, said):
    folder.write("tasks/one/evaluator.py", source)
    told = [text for text in check(folder.root).warnings if "evaluator.py" in text]
    assert len(told) == (said is not None)
    assert said is None or told[0].startswith(f"tasks/one/evaluator.py{said}") or said in told[0]
    assert not recwarn.list


def test_run_py_is_looked_at_too_and_a_shared_file_is_told_once(folder):
    folder.write("tasks/one/run.py", "def main(ctx):\n    pass\n")
    folder.write("shared/judge.py", "def judge(inputs):\n    pass\n")
    for name in ("two", "three"):
        folder.task("evaluation: {entrypoint: 'shared.judge:evaluate'}\n", name=name)
    told = [text for text in check(folder.root).warnings if "nothing in it" in text]
    assert told == [
        "tasks/one/run.py: nothing in it is called run; write it",
        (
            "shared/judge.py: nothing in it is called evaluate; write it, or name another by"
            " `evaluation.entrypoint`"
        ),
    ]
