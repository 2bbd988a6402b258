"""What is added to the kernel's own words for the end of a program."""

from __future__ import annotations

import pytest

from scorehost.hosts.exec_words import explained, explained_late, warning_of
from scorehost.model.exec_result import ExecResult

MISSING = 'exec: "/attempt/artifacts/run.sh": stat /attempt/artifacts/run.sh: no such file or directory'


@pytest.mark.parametrize(
    ("program", "words", "code", "more"),
    [
        ("/attempt/artifacts/run.sh", MISSING, 127, True),
        ("./run.sh", "exec ./run.sh: no such file or directory", 127, True),
        ("nothing", 'exec: "nothing": executable file not found in $PATH', 127, False),
        ("/x", "exec /x: permission denied", 126, False),
    ],
)
def test_a_script_that_is_there_and_whose_interpreter_is_not_is_explained(program, words, code, more):
    said = explained(program, code, words)
    assert said.startswith(words.encode())
    assert (b"CRLF" in said) == more


@pytest.mark.parametrize(
    ("code", "stderr", "more"),
    [
        (1, b"exec /attempt/artifacts/run.sh: no such file or directory\n", True),  # as runc 1.1 ends
        (255, b"exec /attempt/artifacts/run.sh: no such file or directory", True),
        (0, b"exec /attempt/artifacts/run.sh: no such file or directory\n", False),
        (1, b"exec /x: no such file or directory\nand more\n", False),
        (1, b"exec x: no such file or directory\n", False),
        (1, b"", False),
    ],
)
def test_a_script_whose_interpreter_is_found_missing_at_the_last_moment_is_explained_too(code, stderr, more):
    assert (
        b"if /attempt/artifacts/run.sh is there, what its first line names" in explained_late(code, stderr)
    ) == more


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (ExecResult(exit_code=159), True),
        (ExecResult(exit_code=159, timed_out=True), False),
        (ExecResult(exit_code=139), False),
        (ExecResult(exit_code=0), False),
        (ExecResult(exit_code=None, host_lost=True), False),
    ],
)
def test_a_program_that_the_kernel_ended_for_its_architecture_is_a_warning(outcome, said):
    text = warning_of("work", outcome)
    assert bool(text) == said
    assert not said or ("a program in work" in text and "32-bit" in text)
