"""The moved clock: whatever an evaluator asks for the time, it is told a later one."""

from __future__ import annotations

import json
import subprocess
import sys

from scripted_jobs import make_dataset, make_task

from scorehost.audit.clock import MODULE, SHIFT_SECONDS, clock_readers, solutions_ahead, with_moved_clock
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose

EVALUATOR = """
import time
import datetime
from datetime import date, datetime as moment


def evaluate(inputs):
    told = [time.time(), time.time_ns() / 1e9, moment.now().timestamp()]
    told.append(datetime.datetime.today().timestamp())
    told.append(moment.now(datetime.timezone.utc).timestamp())
    day = time.strftime("%Y-%m-%d", time.gmtime())
    at = moment(2026, 11, 30)
    return {"told": told, "same": day == date.today().isoformat(), "kin": isinstance(at + (at - at), moment)}
"""


def test_every_way_of_asking_for_the_time_is_answered_ahead(tmp_path):
    task = make_task(tmp_path, "t")
    task.code["evaluator.py"].write_text(EVALUATOR)
    assert clock_readers([task]) == ["t"]
    dataset = with_moved_clock(make_dataset(tmp_path, task), ["t"], tmp_path)
    moved = dataset.tasks["t"]
    assert moved.spec.evaluation.entrypoint == f"{MODULE}:evaluate"
    (task.folder / f"{MODULE}.py").write_bytes(moved.code[f"{MODULE}.py"].read_bytes())
    program = (
        f"import json, time; real = time.time(); import {MODULE} as moved; "
        "print(json.dumps([real, moved.evaluate({})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=task.folder,
        env={"TZ": "UTC"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    real, found = json.loads(done.stdout)
    assert [round((told - real - SHIFT_SECONDS) / 10) for told in found["told"]] == [0] * 5
    assert (found["same"], found["kin"]) == (True, True)


def test_an_evaluator_that_asks_for_no_time_is_not_scored_again(tmp_path):
    assert clock_readers([make_task(tmp_path, "t")]) == []


def test_only_solutions_of_the_chosen_tasks_are_scored_with_the_clock_moved(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "t", tags=("x",)), make_task(tmp_path, "u"))
    given = ScoreAsked(submissions=("empty",), staged=tmp_path, repeat=2, tags=("x",))
    ahead = solutions_ahead(choose(given, dataset), ["t"], tmp_path / "job" / "clock")
    asked = ahead.asked
    assert [path.name for path in (tmp_path / "job" / "clock").iterdir()] == ["t.py"]
    assert [task.task_id for task in ahead.tasks] == ["t"]
    assert ahead.tasks[0].spec.evaluation.entrypoint == f"{MODULE}:evaluate"
    assert (asked.tasks, asked.submissions, asked.repeat) == (("t",), ("solution",), 1)
    assert (asked.staged, asked.tags) == (None, ())
