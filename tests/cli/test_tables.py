"""The table at the end of a job."""

from __future__ import annotations

from rows import row

from scorehost.cli.tables import attempt_lines


def test_columns_line_up_and_each_attempt_has_one_line_with_its_reason():
    lines = attempt_lines(
        [row("short", "PASS"), row("a-longer-name", "FAIL", sample=2, repeat=3, score=0.25, reason="exact")]
    )
    assert lines == [
        "task           submission  sample  status  score  seconds  reason",
        "short          alice       1.1     PASS        1      1.2",
        "a-longer-name  alice       2.3     FAIL     0.25      1.2  exact",
    ]


def test_an_error_has_no_score():
    assert "ERROR       -" in attempt_lines([row(status="ERROR", reason="evaluator_timeout: …")])[1]


def test_a_reason_can_neither_add_a_line_nor_colour_one():
    lines = attempt_lines([row(status="FAIL", reason="x\nt2  alice  1.1  PASS\x1b[0m\u202e")])
    assert len(lines) == 2
    assert lines[1].endswith("x\\x0at2  alice  1.1  PASS\\x1b[0m\\u202e")


def test_on_a_terminal_a_long_reason_is_cut_to_its_width():
    lines = attempt_lines([row(status="FAIL", reason="r" * 500)], width=100)
    assert max(len(line) for line in lines) == 100
    assert lines[1].endswith("…")


def test_of_many_attempts_only_those_that_did_not_pass_are_listed_and_the_rest_is_counted():
    rows = [row(f"t{number}", "FAIL" if number < 3 else "PASS") for number in range(201)]
    lines = attempt_lines(rows)
    assert [line.split()[0] for line in lines[1:4]] == ["t0", "t1", "t2"]
    assert lines[4:] == ["… 198 PASS attempts not listed; all of them are in the job's folder"]
    assert len(attempt_lines(rows[:200])) == 201


def test_a_great_many_failures_are_cut_and_the_rest_is_counted():
    rows = [row(f"t{number}", "ERROR") for number in range(500)] + [row("p")]
    lines = attempt_lines(rows)
    assert len(lines) == 202
    assert lines[-1] == (
        "… 1 PASS attempt, 300 FAIL or ERROR not listed; all of them are in the job's folder"
    )
