"""What the end of a job says beside the table: a verdict alone, and how to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rows import outcome, row

from scorehost.api import Rescored, Warned
from scorehost.cli.moved import show_rescored
from scorehost.cli.outcome import show, show_one

STOPPED = {
    "status": "interrupted",
    "message": "Stopped by a signal; go on with --resume.",
    "exit_status": 130,
}
GO_ON = "go on      scorehost run --resume runs/20261130-074512-7f3a"


def test_one_attempt_is_told_with_its_score_and_an_error_without_any(capsysbinary):
    show_one(outcome([row("t1", "FAIL", reason="exact")]))
    show_one(outcome([row("t1", "ERROR", reason="evaluator_timeout: slow")]))
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert "FAIL  score 0  exact" in lines
    assert "ERROR  evaluator_timeout: slow" in lines


@pytest.mark.parametrize("status", ["interrupted", "incomplete"])
def test_a_job_that_was_stopped_ends_with_the_command_that_goes_on(capsysbinary, status):
    show(outcome([row()], **{**STOPPED, "status": status}), as_json=False)
    assert capsysbinary.readouterr().out.decode().splitlines()[-1] == GO_ON
    show_one(outcome([], **{**STOPPED, "status": status}))
    assert capsysbinary.readouterr().out.decode().splitlines()[-1] == GO_ON


def test_a_whole_job_says_no_such_thing(capsysbinary):
    show(outcome([row()]), as_json=False)
    assert "--resume" not in capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize(
    ("carried", "words"), [(0, ""), (1, ", 1 stands as it was"), (2, ", 2 stand as they were")]
)
def test_a_rescore_counts_what_stands(capsysbinary, carried, words):
    rows = [row(f"t{number}") for number in range(3)]
    show_rescored(Rescored(outcome=outcome(rows), parent="before", carried=carried, moved=()), as_json=False)
    lines = capsysbinary.readouterr().out.decode().splitlines()
    again = "1 attempt" if carried == 2 else f"{3 - carried} attempts"
    assert f"of before: {again} scored again{words}" in lines


def test_a_fail_ends_with_commands_that_can_be_pasted(capsysbinary):
    rows = [row("a b", "PASS"), row("t1", "FAIL", reason="hidden"), row("t1", "FAIL", submission="bob")]
    show(outcome(rows), as_json=False)
    lines = capsysbinary.readouterr().out.decode().splitlines()
    job = "runs/20261130-074512-7f3a"
    assert f"logs       scorehost logs {job} t1 --submission alice --sample 1 --repeat 1" in lines
    assert f"why        scorehost report {job} --format md --private" in lines
    show_one(outcome([row("t1", "FAIL", reason="hidden")]))
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert f"logs       scorehost logs {job} t1" in lines


def test_where_all_pass_there_is_no_such_command(capsysbinary):
    show(outcome([row()]), as_json=False)
    assert "scorehost logs" not in capsysbinary.readouterr().out.decode()


def test_a_row_with_warnings_says_how_many_and_one_attempt_alone_tells_them(capsysbinary):
    told = (Warned(text="the verdict is PASS, but …", count=1, attempts=("t1/alice/1.1",)),)
    marked = replace(row("t1"), warnings=1)
    show(replace(outcome([marked]), warnings=told), as_json=False)
    assert capsysbinary.readouterr().out.decode().splitlines()[1].endswith("(1 warning)")
    show_one(replace(outcome([marked]), warnings=told))
    assert "  warning: the verdict is PASS, but …" in capsysbinary.readouterr().out.decode().splitlines()


def test_a_rescore_names_the_command_that_compares_checks_and_metrics(tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "before").mkdir(parents=True)
    show_rescored(Rescored(outcome=outcome([row()]), parent="before", carried=0, moved=()), as_json=False)
    line = capsysbinary.readouterr().out.decode().splitlines()[-1]
    assert line == "checks and metrics: scorehost compare runs/before runs/20261130-074512-7f3a"
