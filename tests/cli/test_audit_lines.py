"""The end of an audit on a terminal: findings with their commands, then what they come to."""

from __future__ import annotations

from scorehost.cli.audit_lines import audit_lines
from scorehost.model.audit import AuditFinding, AuditReport, Passed


def lines(**changes):
    given = {
        "dataset": "/data",
        "job_id": "20261130-074512-7f3a",
        "folder": "runs/20261130-074512-7f3a",
        "attacks": True,
        "tasks": 50,
        "attempts": 900,
        "seconds": 61.0,
        "repeats": 2,
        "mutants": 0,
        "survivors": 0,
        "findings": (),
        "passed": (),
        "unsound": (),
        "complete": True,
        "exit_status": 0,
    }
    return [*audit_lines(AuditReport(**{**given, **changes}))]


def finding(
    task_id="a", level="defect", kind="attack-passes", text="PASS for an empty file", command="do this"
):
    return AuditFinding(level=level, kind=kind, task_id=task_id, text=text, command=command)


def test_one_evaluator_is_spoken_of_as_one():
    raises = finding(kind="evaluator-raises")
    told = "1 of 50 evaluators raises for what is merely wrong, in place of FAIL: a"
    assert told in lines(findings=(raises,))
    told = "2 of 50 evaluators raise for what is merely wrong, in place of FAIL: a, b"
    assert told in lines(findings=(raises, finding(task_id="b", kind="evaluator-raises")))


def test_the_end_says_how_many_evaluators_passed_what():
    passed = (
        Passed(label="an empty file", tasks=("a", "b", "c")),
        Passed(label="exit 0", tasks=("a",)),
    )
    told = lines(findings=(finding(),), passed=passed, unsound=("a", "b", "c"), mutants=8, survivors=1)
    assert told == [
        "DEFECT   a",
        "    PASS for an empty file",
        "      do this",
        "",
        "3 of 50 evaluators gave PASS to: an empty file (3), exit 0 (1)",
        "1 of 8 mutated solutions survived (PASS)",
        "not sound: 1 defect, 0 errors, 0 warnings",
        "audit  runs/20261130-074512-7f3a  (50 tasks, 900 attempts, 61 s, with attacks)",
    ]


def test_a_sound_dataset_is_called_so_though_there_are_warnings():
    told = lines(findings=(finding(level="warning", kind="mutant-passes"),))
    assert told[-2] == "sound: 0 defects, 0 errors, 1 warning"


def test_what_was_broken_off_is_never_called_sound_and_says_once_how_to_go_on():
    told = lines(complete=False, message="Stopped by a signal; go on with --resume.", exit_status=130)
    assert told[:-1] == [
        "The audit did not come to its end; `scorehost audit --resume 20261130-074512-7f3a` goes on.",
        "0 defects, 0 errors, 0 warnings",
    ]


def test_of_many_findings_of_a_task_twelve_are_shown_and_the_rest_counted():
    told = lines(findings=tuple(finding(text=f"PASS {number}", command="") for number in range(15)))
    assert told[:2] == ["DEFECT   a", "    PASS 0"]
    assert told[12:14] == ["    PASS 11", "    … and 3 more in audit.json"]


def test_what_others_wrote_moves_no_cursor():
    told = lines(findings=(finding(text="PASS\x1b[2J\n"),))
    assert told[1] == "    PASS\\x1b[2J\\x0a"
