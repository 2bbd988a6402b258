"""Ten thousand attempts: planned, taken up and summed up without a wait."""

from __future__ import annotations

import time

import pytest
from scripted_jobs import Script, make_result, run, some_tasks

from scorehost.jobs import resume as resume_module
from scorehost.jobs.journal import line_hash, open_journal
from scorehost.jobs.options import RunOptions
from scorehost.jobs.plan import make_plan
from scorehost.jobs.record import JobRecord
from scorehost.jobs.scored import scored
from scorehost.jobs.summary import summarise
from scorehost.model.json import dump

ATTEMPTS = 10_000


def test_ten_thousand_attempts_are_planned_and_summed_up_in_seconds(tmp_path):
    dataset = some_tasks(
        tmp_path, *(f"t{n:03}" for n in range(100)), tags=("x", "y"), metrics=(("m", "mean"),)
    )
    for task in dataset.tasks:
        for number in range(1, 11):
            (tmp_path / "team" / task / "samples" / str(number)).mkdir(parents=True)
    options = RunOptions(submissions=(str(tmp_path / "team"),), repeat=10)
    begun = time.process_time()
    plan = make_plan(options, dataset, staging=tmp_path / "staging", warn=lambda _text: None)
    planned = time.process_time() - begun
    assert len(plan.orders) == ATTEMPTS
    attempts = {
        order.key: scored(make_result(order, status="FAIL" if order.key.sample == 1 else "PASS"), order.task)
        for order in plan.orders
    }
    small = run(tmp_path, dataset, submissions=("solution",), tasks=("t000",))
    record = JobRecord.model_validate_json((small.folder / "job.json").read_bytes())
    begun = time.process_time()
    summary = summarise(record, plan, attempts, status="complete")
    summed = time.process_time() - begun
    assert (summary.done, summary.mean_score) == (ATTEMPTS, pytest.approx(0.9))
    assert planned < 2, f"planning took {planned:.2f} s"
    assert summed < 2, f"summing up took {summed:.2f} s"


def test_a_resume_of_ten_thousand_finished_attempts_is_ready_in_two_seconds(tmp_path, monkeypatch):
    dataset = some_tasks(tmp_path, *(f"t{n:03}" for n in range(100)))
    small = run(tmp_path, dataset, submissions=("solution",), repeat=1, tasks=("t000",))
    options = RunOptions(submissions=("solution",), repeat=100)
    plan = make_plan(options, dataset, staging=tmp_path, warn=lambda _text: None)
    with open_journal(small.folder) as journal:
        for order in plan.orders:
            place = small.folder / "attempts" / order.key.folder
            place.mkdir(parents=True, exist_ok=True)
            data = dump(make_result(order, small.job_id).model_dump(mode="json"))
            (place / "result.json").write_bytes(data)
            journal.write("attempt_finished", order.key, {"result": line_hash(data), "status": "PASS"})
    record = JobRecord.model_validate_json((small.folder / "job.json").read_bytes())
    grown = record.model_copy(
        update={
            "asked": record.asked.model_copy(update={"repeat": 100, "tasks": ()}),
            "tasks": dict.fromkeys(dataset.tasks, record.tasks["t000"]),
            "plan": record.plan.model_copy(update={"planned": ATTEMPTS, "digest": plan.digest}),
        }
    )
    (small.folder / "job.json").write_bytes(dump(grown.model_dump(mode="json")))
    monkeypatch.setattr(resume_module, "task_record", lambda _task: record.tasks["t000"])
    started: list[float] = []

    def heard(event):
        if event.kind == "job_started":
            started.append(time.process_time())

    class Watch(list):
        append = staticmethod(heard)

    begun = time.process_time()
    outcome = run(tmp_path, dataset, Script(), resume="latest", watch=Watch())
    assert len(outcome.rows) == ATTEMPTS
    ready = started[0] - begun
    assert ready < 2, f"ready after {ready:.2f} s of this process"
