"""What the source of an evaluator gives away, and what it must not be blamed for."""

from __future__ import annotations

import pytest
from scripted_jobs import make_task

from scorehost.audit.static import suspicions
from scorehost.spec.task import NamedEnvironment


def found(root, source, **environments):
    task = make_task(root, "t")
    task.code["evaluator.py"].write_text(source)
    evaluation = task.spec.evaluation.model_copy(
        update={"environments": {name: NamedEnvironment(gold=gold) for name, gold in environments.items()}}
    )
    spec = task.spec.model_copy(update={"evaluation": evaluation})
    return [(one.kind, one.place) for one in suspicions(task.model_copy(update={"spec": spec}))]


BESIDE = [
    'exec(open(inputs["artifacts"]["a"]).read())',
    'path = inputs["artifacts_dir"]; import sys; sys.path.insert(0, path)',
    'p = inputs["artifacts"].get("a"); q = p; spec = util.spec_from_file_location("m", q)',
    'subprocess.run(["python3", inputs["artifacts"]["a"]])',
    'os.system("sh " + inputs["artifacts"]["a"])',
    'pickle.load(open(inputs["artifacts"]["a"], "rb"))',
    'runpy.run_path("/attempt/artifacts/a.py")',
    'inputs["scoring"].exec(None, ["python3", inputs["artifacts"]["a"]])',
    'inputs["scoring"].exec(None, [inputs["artifacts"]["a"]])',
    'inputs["scoring"].exec("golden", ["pytest", inputs["workspace_dir"]])',
    'untrusted(inputs["scoring"], "golden", inputs["artifacts"]["a"], "f")',
]


@pytest.mark.parametrize("line", BESIDE)
def test_submitted_code_that_runs_beside_gold_is_seen(tmp_path, line):
    source = f"def evaluate(inputs):\n    {line}\n"
    assert found(tmp_path, source, golden=True) == [("runs-beside-gold", "evaluator.py:2")]


def test_a_path_is_followed_into_a_function_of_the_file(tmp_path):
    source = (
        'def load(p):\n    __import__(p)\n\n\ndef evaluate(inputs):\n    load(inputs["artifacts"]["a"])\n'
    )
    assert found(tmp_path, source) == [("runs-beside-gold", "evaluator.py:2")]


FINE = [
    'Path(inputs["artifacts"]["a"]).read_text()',
    'inputs["scoring"].exec("sandbox", ["python3", inputs["artifacts"]["a"]])',
    'untrusted(inputs["scoring"], "sandbox", inputs["artifacts"]["a"], "f")',
    'inputs["scoring"].exec(None, ["rpn", inputs["artifacts"]["a"]])',
    'exec(open("/attempt/evaluation/test.py").read())',
    'json.loads(open(inputs["artifacts"]["a"]).read())',
    "time.monotonic()",
    'random.Random(inputs["task"]["seed"]).random()',
    "random.seed(7); random.choice([1])",
]


@pytest.mark.parametrize("line", FINE)
def test_reading_data_and_running_code_apart_from_gold_is_fine(tmp_path, line):
    assert found(tmp_path, f"def evaluate(inputs):\n    {line}\n", sandbox=False) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("time.time()", "reads-the-clock"),
        ("datetime.datetime.now()", "reads-the-clock"),
        ("datetime.now()", "reads-the-clock"),
        ("random.choice([1])", "draws-at-random"),
        ("uuid.uuid4()", "draws-at-random"),
    ],
)
def test_clocks_and_chance_are_seen(tmp_path, line, kind):
    assert found(tmp_path, f"def evaluate(inputs):\n    {line}\n") == [(kind, "evaluator.py:2")]


@pytest.mark.parametrize(
    ("head", "line", "kind"),
    [
        ("from time import time as now", "now()", "reads-the-clock"),
        ("import time as t", "t.time_ns()", "reads-the-clock"),
        ("from datetime import datetime as dt", "dt.utcnow()", "reads-the-clock"),
        ("import datetime as d", "d.datetime.now()", "reads-the-clock"),
        ("from datetime import date", "date.today()", "reads-the-clock"),
        ("from time import *", "strftime('%Y')", "reads-the-clock"),
        ("from random import choice as pick", "pick([1])", "draws-at-random"),
        ("from os import urandom", "urandom(4)", "draws-at-random"),
        ("from subprocess import run as r", 'r(["sh", inputs["artifacts"]["a"]])', "runs-beside-gold"),
        ("from os import system", 'system("sh " + inputs["artifacts"]["a"])', "runs-beside-gold"),
        ("", 'inputs["scoring"].exec(None, ["date", "+%s"])', "program-reads-the-clock"),
        (
            "",
            'inputs["scoring"].exec("box", ["sh", "-c", "test $(date +%H) -gt 12"])',
            "program-reads-the-clock",
        ),
        (
            "",
            'inputs["scoring"].exec("box", ["python3", "-c", "import time; print(time.time())"])',
            "program-reads-the-clock",
        ),
        ("import subprocess", 'subprocess.run(["/bin/date"])', "program-reads-the-clock"),
    ],
)
def test_they_are_seen_by_whatever_name_and_in_programs_that_are_started(tmp_path, head, line, kind):
    source = f"{head}\ndef evaluate(inputs):\n    {line}\n"
    assert found(tmp_path, source) == [(kind, "evaluator.py:3")]


@pytest.mark.parametrize(
    "line",
    [
        'inputs["scoring"].exec("box", ["cat", "/attempt/artifacts/date.txt"])',
        'inputs["scoring"].exec("box", ["sh", "-c", "update --date"])',
        'open("the date is wrong")',
        "now()",
    ],
)
def test_a_word_that_looks_like_a_clock_is_none(tmp_path, line):
    assert found(tmp_path, f"def evaluate(inputs):\n    {line}\n") == []


def test_programs_that_lie_with_the_gold_are_read_too(tmp_path):
    task = make_task(tmp_path, "t")
    task.code["evaluator.py"].write_text(
        'PROGRAMS = ["/attempt/evaluation/check.py", "/attempt/evaluation/all.sh"]\n'
    )
    gold = {}
    for name, text in {
        "check.py": "from time import time as now\n\nprint(now())\n",
        "all.sh": "# date\necho up to date\nnow=`date -u +%s`\n",
        "unused.py": "import time\nprint(time.time())\n",
    }.items():
        gold[name] = tmp_path / name
        gold[name].write_text(text)
    told = suspicions(task.model_copy(update={"gold": gold}))
    assert [(one.kind, one.place) for one in told] == [
        ("program-reads-the-clock", "evaluation/check.py:3"),
        ("program-reads-the-clock", "evaluation/all.sh:3"),
    ]


def test_a_file_that_is_no_python_is_left_to_the_run(tmp_path):
    assert found(tmp_path, "def evaluate(:\n") == []
