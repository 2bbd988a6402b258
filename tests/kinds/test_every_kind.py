"""What each kind of job gets from the machine, and must keep working for each."""

from __future__ import annotations

import itertools
import json

import anyio
import pytest
from guessing import GuessAsked
from scripted_jobs import Script
from table import NAMES, TABLE, go, numbers, said, usual

from scorehost import api
from scorehost.api.running import resolved
from scorehost.errors import DiskFull, UsageError
from scorehost.jobs import ledger
from scorehost.jobs.kind import Derived
from scorehost.jobs.running import Running
from scorehost.jobs.scoring import SystemClock
from scorehost.model.result import AgentCalls
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import FILE, read_history
from scorehost.runs.reading import read_job

FORMATS = ("junit", "json", "md", "csv", "html")


def job_of(outcome):
    return read_job(JobFolder(outcome.folder))


def test_what_was_asked_is_read_back_as_it_was_and_says_its_kind(tmp_path, entry, known):
    outcome = go(entry, tmp_path)
    record = json.loads((outcome.folder / "job.json").read_bytes())
    assert (record["format"], record["kind"], record["asked"]["kind"]) == (
        "scorehost.job/2",
        entry.tag,
        entry.tag,
    )
    kind, asked, _ = resolved(None, Running(out=tmp_path / "runs", resume="latest"))
    assert (kind.tag, type(asked)) == (entry.tag, type(entry.asked(tmp_path)))
    assert kind.recorded(asked).model_dump() == record["asked"]


def test_a_job_of_a_kind_that_is_not_known_is_refused_in_words(tmp_path):
    go(TABLE["guess"], tmp_path)
    with pytest.raises(UsageError, match="knows no jobs of kind 'guess'"):
        resolved(None, Running(out=tmp_path / "runs", resume="latest"))


def test_a_job_cannot_be_resumed_as_one_of_another_kind(tmp_path, known):
    outcome = go(TABLE["score"], tmp_path)
    with pytest.raises(UsageError, match=f"{outcome.job_id} is a score job, not a guess job"):
        resolved(GuessAsked(), Running(out=tmp_path / "runs", resume="latest"))


def test_the_summary_has_counts_n_bounds_groups_and_the_kind(tmp_path, entry):
    outcome = go(entry, tmp_path, Script(usual))
    summary = json.loads((outcome.folder / "summary.json").read_bytes())
    assert summary == outcome.summary
    assert (summary["kind"], summary["planned"], summary["done"]) == (entry.tag, 12, 12)
    errors = 0 if entry.retries else 2
    assert summary["counts"] == {"PASS": 10 - errors, "FAIL": 2, "ERROR": errors}
    assert (summary["n"], summary["errors_left_out"]) == (12 - errors, errors)
    assert (summary["bounds"]["lower"], summary["bounds"]["upper"]) == (
        pytest.approx((10 - errors) / 12),
        pytest.approx(10 / 12),
    )
    assert sorted(summary["tasks"]) == sorted(NAMES)
    assert len(summary["submissions"]) == 2


def test_a_stop_ends_the_job_and_a_resume_makes_the_rest(tmp_path, entry):
    undisturbed = numbers(go(entry, tmp_path / "whole", Script(usual)))
    stop, count = anyio.Event(), itertools.count(1)

    async def verdict(order):
        if next(count) == 6:
            stop.set()
            await anyio.sleep(30)
        return usual(order)

    first = go(entry, tmp_path, Script(verdict), stop=stop)
    assert (first.status, first.exit_status) == ("interrupted", 130)
    script = Script(usual)
    second = go(entry, tmp_path, script, resume="latest")
    assert numbers(second) == undisturbed
    assert set(script.keys).isdisjoint(str(row.key) for row in first.rows)


def test_a_full_disk_stops_the_job_and_a_resume_makes_the_rest(tmp_path, entry):
    undisturbed = numbers(go(entry, tmp_path / "whole", Script(usual)))
    count = itertools.count(1)

    def verdict(order):
        if next(count) == 6:
            raise DiskFull("4096 bytes are missing")
        return usual(order)

    first = go(entry, tmp_path, Script(verdict))
    assert (first.status, first.exit_status) == ("incomplete", 2)
    assert "4096 bytes are missing" in first.message
    assert numbers(go(entry, tmp_path, Script(usual), resume="latest")) == undisturbed


def test_two_attempts_of_one_name_are_refused_before_there_is_a_job(tmp_path, entry):
    script = Script()
    with pytest.raises(UsageError, match="case does not tell them apart"):
        go(entry, tmp_path, script, asked=entry.twice(tmp_path))
    assert script.keys == []
    assert not list((tmp_path / "runs").glob("2*"))


def test_clocks_that_step_change_nothing(tmp_path, entry, monkeypatch):
    class Leaping(SystemClock):
        ahead = 0.0

        def now(self):
            self.ahead += 3_600.0
            return super().now() + self.ahead

    moments = itertools.cycle(("2026-12-01T10:00:00.000Z", "1999-01-01T00:00:00.000Z"))
    monkeypatch.setattr(ledger, "utc_now", lambda: next(moments))
    outcome = go(entry, tmp_path, Script(usual), clock=Leaping())
    assert (outcome.status, len(outcome.rows)) == ("complete", 12)
    history = read_history(outcome.folder / FILE)
    assert (history.broken, history.last) == (None, outcome.root_hash)


def test_faults_of_the_machinery_are_tried_again_only_where_the_kind_says_so(tmp_path, entry):
    script = Script(usual)
    outcome = go(entry, tmp_path, script, retry_errors=3)
    assert len(script.keys) == (14 if entry.retries else 12)
    assert outcome.summary["counts"]["ERROR"] == (0 if entry.retries else 2)


JUDGE = {"judge": AgentCalls(made=1, answered=1)}


def provoked(order):
    """All answered by a judge but two, which its role fails at for what they are."""
    if order.key.task_id == "bee":
        return {"kind": "adapter_refused", "role": "judge"}
    return said(order, agents=JUDGE)


def test_what_work_provokes_in_its_judge_counts_as_the_kind_says_in_summary_reader_and_resume(
    tmp_path, entry
):
    first = go(entry, tmp_path, Script(provoked))
    lowest = entry.tag == "score"
    for outcome in (first, go(entry, tmp_path, Script(provoked), resume="latest")):
        figures = outcome.summary
        assert outcome.status == ("complete" if lowest else "incomplete")
        assert (figures["errors_provoked"], figures["errors_left_out"]) == ((2, 0) if lowest else (0, 2))
        assert (figures["n"], figures["mean_score"]) == (
            (12, pytest.approx(10 / 12)) if lowest else (10, 1.0)
        )
        assert outcome.exit_status == 3
        read = job_of(outcome)
        assert sum(read.scored(one).counts_as_lowest for one in read.attempts) == (2 if lowest else 0)
    numbers_before, again = numbers(first), numbers(outcome)
    assert again == numbers_before


def test_a_judge_that_answers_nobody_is_told_and_held_against_nobody(tmp_path, entry):
    def mute(order):
        return {"kind": "adapter_malformed", "role": "judge"} if order.key.task_id == "bee" else said(order)

    outcome = go(entry, tmp_path, Script(mute))
    assert (outcome.status, outcome.summary["errors_left_out"]) == ("complete", 2)
    lines = [json.loads(line) for line in (outcome.folder / FILE).read_bytes().splitlines()]
    told = [line["text"] for line in lines if line["kind"] == "warning"]
    assert any("the role judge answered no call of this job, so 2 ERRORs" in text for text in told)


def test_rerun_makes_errors_again_and_keeps_the_earlier_try(tmp_path, entry):
    first = go(entry, tmp_path, Script(usual), retry_errors=0)
    assert first.exit_status == 3
    script = Script(said)
    second = go(entry, tmp_path, script, resume="latest", rerun="error", retry_errors=0)
    again = sorted(str(row.key) for row in first.rows if row.status == "ERROR")
    assert sorted(script.keys) == again
    assert len(again) == 2
    assert second.summary["counts"]["ERROR"] == 0
    for key in again:
        assert json.loads((second.folder / "tries" / key / "1/result.json").read_bytes())["status"] == "ERROR"


def test_fail_fast_takes_no_more_after_the_first_that_is_not_pass(tmp_path, entry):
    script = Script(lambda order: said(order, "FAIL"))
    outcome = go(entry, tmp_path, script, fail_fast=True, concurrency=1)
    assert (outcome.status, len(script.keys)) == ("incomplete", 1)


def closed(entry):
    """Verdicts at which the gate of the kind is not met."""
    return Script(lambda order: said(order, "FAIL" if order.key.submission == entry.wrong else "PASS"))


def opened(entry):
    """Verdicts at which it is."""
    wrong = "control" if entry.tag == "guess" else None
    return Script(lambda order: said(order, "FAIL" if order.key.submission == wrong else "PASS"))


def test_the_exit_status_is_that_of_the_gate(tmp_path, entry):
    assert go(entry, tmp_path, opened(entry)).exit_status == 0
    assert go(entry, tmp_path, closed(entry)).exit_status == 1
    assert go(entry, tmp_path, closed(entry), exit_on="error").exit_status == 0
    assert go(entry, tmp_path, closed(entry), exit_on="never").exit_status == 0
    broken = Script(lambda order: {"kind": "start_failed"} if order.key.task_id == "ant" else said(order))
    assert go(entry, tmp_path, broken, retry_errors=0).exit_status == 3
    assert go(entry, tmp_path, opened(entry), fail_under=1.01).exit_status == 1


def test_without_a_gate_no_verdict_makes_a_status(tmp_path):
    entry = TABLE["guess"]
    asked = GuessAsked(catalog=tmp_path, words=NAMES, gated=False)
    assert go(entry, tmp_path, closed(entry), asked=asked).exit_status == 0


def test_a_resume_tells_what_changed_by_its_name(tmp_path):
    entry = TABLE["guess"]
    go(entry, tmp_path)
    path = next(tmp_path.glob("runs/2*/job.json"))
    record = json.loads(path.read_bytes())
    record["tasks"]["ant"]["digests"]["word"] = "sha256:0"
    record["tasks"]["aunt"] = record["tasks"].pop("bee")
    path.write_text(json.dumps(record))
    told = "\n  the task aunt is gone\n  the task bee is new\n  ant: word"
    with pytest.raises(UsageError, match=told):
        go(entry, tmp_path, resume="latest")


def test_what_says_which_attempts_there_are_is_refused_beside_resume(tmp_path, entry):
    go(entry, tmp_path)
    with pytest.raises(UsageError, match=r"--\w+(, --\w+)* cannot go with --resume"):
        go(entry, tmp_path, asked=entry.asked(tmp_path), resume="latest")


@pytest.mark.parametrize("form", FORMATS)
def test_every_report_is_written(tmp_path, entry, known, form):
    outcome = go(entry, tmp_path, Script(usual), retry_errors=0)
    shown = api.report(outcome.job_id, form, out=tmp_path / "runs").decode()
    assert all(name in shown for name in NAMES)


def test_two_jobs_are_compared_by_what_the_kind_says_must_agree(tmp_path, entry, known):
    one, two = go(entry, tmp_path, opened(entry)), go(entry, tmp_path, closed(entry))
    found = api.compare(one.job_id, two.job_id, out=tmp_path / "runs")
    assert (found.comparable, found.n_pairs) == (True, 12)
    assert len(found.changes) == (6 if entry.tag == "score" else 12)


def test_jobs_of_two_kinds_are_never_compared(tmp_path, known):
    one, two = (go(TABLE[tag], tmp_path) for tag in ("score", "guess"))
    with pytest.raises(UsageError, match=r"is a score job, .* a guess job"):
        api.compare(one.job_id, two.job_id, out=tmp_path / "runs")


def test_the_log_of_an_attempt_is_found(tmp_path, entry):
    outcome = go(entry, tmp_path)
    key = outcome.rows[0].key
    wanted = api.Wanted(task=key.task_id, submission=key.submission)
    (log,) = api.logs(outcome.job_id, wanted, out=tmp_path / "runs")
    assert (log.path, log.size) == ("logs/evaluator.log", 7)


def test_a_verdict_is_derived_again_or_said_not_to_follow(tmp_path, entry):
    job = job_of(go(entry, tmp_path, Script(usual), retry_errors=0))
    for attempt in job.attempts:
        derived = entry.kind.derive(attempt)
        assert isinstance(derived, Derived)
        assert derived.differs == ()
        if derived.status is None:
            assert derived.unknown
        else:
            assert derived.status == attempt.result.status


def test_a_forged_verdict_is_found_where_it_can_be_derived(tmp_path):
    entry = TABLE["guess"]
    outcome = go(entry, tmp_path)
    (outcome.folder / "attempts/ant/control/1.1/said.txt").write_text("ape")
    attempt = next(one for one in job_of(outcome).attempts if str(one.key) == "ant/control/1.1")
    assert entry.kind.derive(attempt) == Derived("FAIL", 0.0, ("result.json says PASS",), ())
