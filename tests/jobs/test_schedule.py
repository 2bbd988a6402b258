"""Side by side, fair, and stopped for the right reasons."""

from __future__ import annotations

import anyio
import pytest
from scripted_jobs import (
    FakeClock,
    Script,
    ScriptedSitting,
    asked_and_running,
    make_dataset,
    make_task,
    run,
    some_tasks,
)

from scorehost.errors import DiskFull, EngineUnreachable
from scorehost.jobs.run import run_job
from scorehost.runs.folder import job_ids
from scorehost.runs.journal import FILE, read_history
from scorehost.scoring.choosing import choose
from scorehost.scoring.kind import ScoreKind


def kinds(watch):
    return [event.kind for event in watch]


def test_never_more_attempts_run_than_asked_and_as_many_as_asked(tmp_path):
    dataset = some_tasks(tmp_path, *"abcdefgh")
    script = Script(pause=0.01)
    run(tmp_path, dataset, script, submissions=("solution",), concurrency=3)
    assert script.most == 3
    assert len(script.orders) == 8


def test_every_task_is_scored_once_before_any_is_scored_twice(tmp_path):
    script = Script()
    run(tmp_path, some_tasks(tmp_path, "a", "b", "c"), script, submissions=("solution",), repeat=2)
    assert [order.key.task_id for order in script.orders] == ["a", "b", "c", "a", "b", "c"]


def test_fail_fast_takes_no_new_attempt_and_lets_the_running_ones_finish(tmp_path):
    async def slow():
        await anyio.sleep(0.05)
        return {}

    def verdict(order):
        return {"status": "FAIL"} if order.key.task_id == "a" else slow()

    script = Script(verdict)
    outcome = run(
        tmp_path,
        some_tasks(tmp_path, *"abcd"),
        script,
        submissions=("solution",),
        concurrency=2,
        fail_fast=True,
    )
    assert script.keys == ["a/solution/1.1", "b/solution/1.1"]
    assert [row.status for row in outcome.rows] == ["FAIL", "PASS"]
    assert (outcome.status, outcome.exit_status) == ("incomplete", 1)


def test_a_retryable_error_is_tried_again_and_the_first_try_is_kept(tmp_path):
    def verdict(order):
        return {"kind": "start_failed"} if order.number == 1 else {}

    watch = []
    outcome = run(
        tmp_path,
        some_tasks(tmp_path, "a"),
        Script(verdict),
        submissions=("solution",),
        retry_errors=2,
        watch=watch,
    )
    assert [(row.status, row.reason) for row in outcome.rows] == [("PASS", "")]
    assert (outcome.folder / "tries/a/solution/1.1/1/result.json").exists()
    assert not (outcome.folder / "tries/a/solution/1.1/2").exists()
    assert "attempt_retried" in kinds(watch)
    assert outcome.exit_status == 0


def test_retries_end_and_the_last_error_stands(tmp_path):
    script = Script(lambda _order: {"kind": "start_failed"})
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",), retry_errors=2)
    assert [order.number for order in script.orders] == [1, 2, 3]
    assert outcome.rows[0].error.kind == "start_failed"
    assert sorted(path.name for path in (outcome.folder / "tries/a/solution/1.1").iterdir()) == ["1", "2"]


@pytest.mark.parametrize("kind", ["evaluator_oom", "submission_fault", "invalid_result"])
def test_what_a_submission_or_dataset_caused_is_never_retried(tmp_path, kind):
    script = Script(lambda _order: {"kind": kind})
    run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",), retry_errors=5)
    assert len(script.orders) == 1


def test_once_is_how_often_a_retryable_error_is_tried_again_unless_told_otherwise(tmp_path):
    script = Script(lambda _order: {"kind": "start_failed"})
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",))
    assert [order.number for order in script.orders] == [1, 2]
    assert [path.name for path in (outcome.folder / "tries/a/solution/1.1").iterdir()] == ["1"]


def test_nothing_is_tried_again_when_told_so(tmp_path):
    script = Script(lambda _order: {"kind": "start_failed"})
    run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",), retry_errors=0)
    assert len(script.orders) == 1


@pytest.mark.parametrize(("retries", "left"), [(1, ["b", "c"]), (0, ["c"])])
def test_a_try_that_is_owed_when_the_engine_is_gone_for_good_is_made_by_a_resume(tmp_path, retries, left):
    engine = Engine("never")

    def verdict(order):
        if order.key.task_id == "b":
            engine.gone = True
            return {"kind": "engine_lost"}
        return {}

    dataset = some_tasks(tmp_path, "a", "b", "c")
    first = run(
        tmp_path,
        dataset,
        Script(verdict),
        submissions=("solution",),
        ping=engine.ping,
        clock=FakeClock(),
        retry_errors=retries,
    )
    assert (first.status, first.exit_status) == ("incomplete", 2)
    script = Script()
    second = run(tmp_path, dataset, script, resume="latest")
    assert sorted(order.key.task_id for order in script.orders) == left
    assert (second.status, len(second.rows)) == ("complete", 3)


@pytest.mark.parametrize("step", [3_600.0, -3_600.0])
def test_a_step_of_the_clock_is_no_time_in_which_the_engine_was_waited_for(tmp_path, step):
    class Stepping(FakeClock):
        async def sleep(self, seconds):
            await super().sleep(seconds)
            if engine.pings == 3:
                self.time += step

    engine = Engine("never", back_after=6)

    def verdict(order):
        if order.number == 1:
            engine.gone = True
            return {"kind": "engine_lost"}
        return {}

    outcome = run(
        tmp_path,
        some_tasks(tmp_path, "a"),
        Script(verdict),
        submissions=("solution",),
        ping=engine.ping,
        clock=Stepping(),
    )
    assert (outcome.status, outcome.exit_status, engine.pings) == ("complete", 0, 6)


class Engine:
    """An engine that goes under the attempt on `task_id`; back after so many pings (None: never)."""

    def __init__(self, task_id, back_after=None):
        self.task_id, self.back_after = task_id, back_after
        self.pings = 0
        self.gone = False

    def verdict(self, order):
        if order.key.task_id == self.task_id and not self.pings:
            self.gone = True
        if self.gone:
            raise EngineUnreachable("gone")
        return {}

    async def ping(self):
        self.pings += 1
        if self.back_after is not None and self.pings >= self.back_after:
            self.gone = False
        if self.gone:
            raise EngineUnreachable("gone")


def test_an_engine_that_is_gone_for_good_ends_the_job_and_leaves_the_rest_unfinished(tmp_path):
    dataset = some_tasks(tmp_path, *(f"t{n:03}" for n in range(100)))
    engine, clock = Engine("t010"), FakeClock()
    outcome = run(
        tmp_path,
        dataset,
        Script(engine.verdict),
        submissions=("solution",),
        ping=engine.ping,
        clock=clock,
        concurrency=2,
    )
    assert (outcome.status, outcome.exit_status) == ("incomplete", 2)
    assert 60 <= clock.time < 120
    assert "has not answered for 60 s" in outcome.message
    assert {row.status for row in outcome.rows} == {"PASS"}
    assert len(outcome.rows) == 10
    again = run(tmp_path, dataset, resume="latest")
    assert (again.status, len(again.rows)) == ("complete", 100)


def test_an_engine_that_comes_back_in_time_costs_nothing(tmp_path):
    engine = Engine("b", back_after=5)
    script = Script(engine.verdict)
    outcome = run(
        tmp_path,
        some_tasks(tmp_path, "a", "b", "c"),
        script,
        submissions=("solution",),
        ping=engine.ping,
        clock=FakeClock(),
    )
    assert (outcome.status, outcome.exit_status) == ("complete", 0)
    assert script.keys == ["a/solution/1.1", "b/solution/1.1", "b/solution/1.1", "c/solution/1.1"]


def test_attempts_that_lost_the_engine_are_retried_once_it_answers(tmp_path):
    engine = Engine("never", back_after=3)

    def verdict(order):
        if order.key.task_id == "b" and order.number == 1:
            engine.gone = True
            return {"kind": "engine_lost"}
        return engine.verdict(order)

    outcome = run(
        tmp_path,
        some_tasks(tmp_path, "a", "b", "c"),
        Script(verdict),
        submissions=("solution",),
        ping=engine.ping,
        clock=FakeClock(),
        retry_errors=1,
    )
    assert [row.status for row in outcome.rows] == ["PASS", "PASS", "PASS"]


def test_an_attempt_that_loses_its_engine_again_and_again_ends_the_job(tmp_path):
    def verdict(_order):
        raise EngineUnreachable("gone")

    script = Script(verdict)
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",), clock=FakeClock())
    assert len(script.orders) == 3
    assert (outcome.status, outcome.exit_status) == ("incomplete", 2)


def test_a_full_disk_stops_the_job_and_says_how_much_is_missing(tmp_path):
    def verdict(order):
        if order.key.task_id == "b":
            raise DiskFull("full: at least 17 are missing.", hint="Free some.")
        return {}

    dataset = some_tasks(tmp_path, "a", "b", "c")
    outcome = run(tmp_path, dataset, Script(verdict), submissions=("solution",))
    assert (outcome.status, outcome.exit_status) == ("incomplete", 2)
    assert "17 are missing" in outcome.message
    assert [row.key.task_id for row in outcome.rows] == ["a"]
    assert run(tmp_path, dataset, resume="latest").status == "complete"


def test_an_error_that_no_one_planned_for_leaves_the_other_attempts_alone(tmp_path):
    def verdict(order):
        if order.key.task_id == "b":
            raise ZeroDivisionError("secret gold")
        return {}

    watch = []
    outcome = run(
        tmp_path, some_tasks(tmp_path, "a", "b", "c"), Script(verdict), submissions=("solution",), watch=watch
    )
    assert [row.key.task_id for row in outcome.rows] == ["a", "c"]
    assert (outcome.status, outcome.exit_status) == ("incomplete", 3)
    (warning,) = [event.fields["text"] for event in watch if event.kind == "warning"]
    assert "ZeroDivisionError" in warning
    assert "secret" not in (outcome.folder / FILE).read_text()


def test_a_stop_cancels_what_runs_and_keeps_what_is_finished(tmp_path):
    stop = anyio.Event()
    cleaned = []

    async def forever(order):
        stop.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                cleaned.append(order.key.task_id)

    def verdict(order):
        return {} if order.key.task_id == "a" else forever(order)

    dataset = some_tasks(tmp_path, "a", "b", "c")
    outcome = run(tmp_path, dataset, Script(verdict), submissions=("solution",), stop=stop)
    assert (outcome.status, outcome.exit_status) == ("interrupted", 130)
    assert [row.key.task_id for row in outcome.rows] == ["a"]
    assert cleaned == ["b"]
    assert (outcome.folder / "summary.json").exists()
    assert not (outcome.folder / "attempts/b").exists()
    assert read_history(outcome.folder / FILE).last == outcome.root_hash


def test_a_job_that_is_still_says_what_it_waits_for(tmp_path):
    clock, watch = FakeClock(), []

    async def slow():
        await clock.sleep(130)
        return {}

    run(
        tmp_path,
        make_dataset(tmp_path, make_task(tmp_path, "slow")),
        Script(lambda _order: slow()),
        submissions=("solution",),
        clock=clock,
        watch=watch,
    )
    assert kinds(watch).count("waiting") == 2
    text = next(event.fields["text"] for event in watch if event.kind == "waiting")
    assert "60 s" in text
    assert "slow/solution/1.1 (evaluate)" in text


def test_the_watcher_hears_each_attempt_from_start_to_end(tmp_path):
    watch = []
    run(tmp_path, some_tasks(tmp_path, "a"), submissions=("solution",), watch=watch)
    assert kinds(watch) == ["job_started", "attempt_started", "phase", "attempt_finished", "job_finished"]
    assert watch[0].fields["planned"] == 1
    assert watch[3].fields["row"].status == "PASS"


def test_a_cancel_from_outside_still_writes_the_summary(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b")

    async def main():
        asked, running = asked_and_running(tmp_path, dataset, submissions=("solution",))
        with anyio.CancelScope() as scope:

            async def cancels():
                scope.cancel()
                await anyio.sleep_forever()

            script = Script(lambda order: cancels() if order.key.task_id == "b" else {})
            sitting = ScriptedSitting(choose(asked, dataset), running, script)
            await run_job(ScoreKind(None), sitting, running, lambda _event: None, stop=anyio.Event())

    anyio.run(main)
    (folder,) = (tmp_path / "runs" / job_id for job_id in job_ids(tmp_path / "runs"))
    assert '"status": "interrupted"' in (folder / "summary.json").read_text()
