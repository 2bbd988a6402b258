"""Jobs of many attempts: what is done for each does not grow with how many there are."""

from __future__ import annotations

import itertools
import os
import sys
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripted_jobs import FakeClock, Script, make_result, planned, run, scoring_digests, some_tasks

from scorehost.jobs.ledger import Ledger
from scorehost.jobs.summary import summarise
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import open_journal
from scorehost.runs.record import JobRecord
from scorehost.runs.scored import scored
from scorehost.runs.writer import open_writer
from scorehost.scoring.kind import ScoreKind

KIB = 1024
_heard: list[list[tuple[str, str]]] = []  # of whoever listens


def _hear(event, args):
    if _heard and event in ("open", "os.listdir", "os.scandir", "os.rename", "os.mkdir"):
        _heard[-1].append((event, str(args[0])))


sys.addaudithook(_hear)  # no hook can ever be taken away: it hears nothing while nobody listens


@contextmanager
def file_calls():
    """What is opened, listed, renamed and made while the block runs."""
    opened = os.open

    def heard_open(path, flags, mode=0o777, *, dir_fd=None):
        if dir_fd is not None:  # of which the hook hears the name alone
            _heard[-1].append(("open", f"{Path(f'/proc/self/fd/{dir_fd}').readlink()}/{path}"))
        return opened(path, flags, mode, dir_fd=dir_fd)

    _heard.append([])
    os.open = heard_open
    try:
        yield _heard[-1]
    finally:
        os.open = opened
        _heard.pop()


@contextmanager
def calls():
    """How many functions of Python are called while the block runs."""
    count = [0]

    def heard(_frame, event, _arg):
        count[0] += event == "call"

    sys.setprofile(heard)
    try:
        yield count
    finally:
        sys.setprofile(None)


def plan_of(dataset, repeat):
    return planned(dataset, dataset.root / "staging", submissions=("solution",), repeat=repeat)[0]


def test_twice_the_attempts_take_twice_the_work_to_plan_and_to_sum_up(tmp_path):
    dataset = some_tasks(
        tmp_path, *(f"t{n:02}" for n in range(20)), tags=("x", "y"), metrics=(("m", "mean"),)
    )
    small = run(tmp_path, dataset, submissions=("solution",), tasks=("t00",))
    record = JobRecord.model_validate_json((small.folder / "job.json").read_bytes())
    planning, summing = [], []
    for repeat in (20, 40, 80):
        with calls() as count:
            plan = plan_of(dataset, repeat)
        planning.append(count[0])
        assert len(plan.orders) == 20 * repeat
        attempts = {
            order.key: scored(make_result(order, status="FAIL" if order.key.repeat == 1 else "PASS"), ("m",))
            for order in plan.orders
        }
        with calls() as count:
            summary = summarise(ScoreKind(None), record, plan, attempts, status="complete")
        summing.append(count[0])
        assert summary.mean_score == pytest.approx(1 - 1 / repeat)
    for once, twice, four_times in (planning, summing):
        # What is done once cancels out: the second doubling adds twice as much as the first did.
        assert four_times - twice < 2.2 * (twice - once)


def test_a_resume_opens_the_result_of_each_finished_attempt_once_and_nothing_else_of_it(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b", "c")
    done = run(tmp_path, dataset, submissions=("solution",), repeat=20)
    with file_calls() as heard:
        outcome = run(tmp_path, dataset, Script(), resume="latest")
    assert len(outcome.rows) == 60
    results = [path for _, path in heard if path.endswith("/result.json")]
    keys = Counter(path.removesuffix("/result.json") for path in results)
    assert keys == {f"{done.folder}/attempts/{row.key}": 1 for row in done.rows}
    # Beside it only folders on the way are opened; nothing is listed, moved or made.
    ours = [(event, path) for event, path in heard if path.startswith(f"{done.folder}/attempts")]
    assert {event for event, _ in ours} == {"open"}
    assert {path for _, path in ours if Path(path).is_file()} == {f"{key}/result.json" for key in keys}
    assert sum(path.endswith("/events.jsonl") for _, path in heard) == 2  # read once, then written


def test_an_attempt_takes_as_many_file_calls_late_in_a_job_as_early_in_it(tmp_path):
    counts = []

    class Watch(list):
        def append(self, event):
            if event.kind == "attempt_finished":
                counts.append(len(heard))

    dataset = some_tasks(tmp_path, "a")
    with file_calls() as heard:
        run(tmp_path, dataset, submissions=("solution",), repeat=60, concurrency=1, watch=Watch())
    each = [after - before for before, after in itertools.pairwise(counts)]
    assert len(each) == 59
    assert set(each) == {each[0]}


@pytest.mark.anyio
async def test_a_job_keeps_less_than_a_kibibyte_of_a_finished_attempt(tmp_path):
    plan = plan_of(some_tasks(tmp_path, "a", "b"), 500)
    folder = JobFolder(tmp_path)
    with open_journal(tmp_path) as journal:
        async with open_writer(tmp_path) as writer:
            ledger = Ledger(folder, journal, writer, lambda _event: None, FakeClock())
            images = {"evaluator": "sha256:" + "e" * 64}
            tracemalloc.start()
            try:
                for order in plan.orders:
                    # Read from JSON, as each attempt's own would be: no two share anything.
                    digests = scoring_digests(images=images, task="sha256:" + "d" * 64)
                    made = make_result(order, tmp_path.name, digests=digests).model_dump_json()
                    folder.attempt(order.key).mkdir(parents=True)
                    await ledger.finished(order, type(make_result(order)).model_validate_json(made))
                kept, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert len(ledger.done) == 1000
    assert kept < 1000 * KIB
    assert len({id(one.digests) for one in ledger.done.values()}) == 1
