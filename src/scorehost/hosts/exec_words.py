"""What scorehost adds where the kernel's own word for the end of a program says too little."""

from __future__ import annotations

import re

from scorehost.hosts.exec_ends import NOT_FOUND
from scorehost.model.exec_result import ExecResult

SIGSYS_CODE = 128 + 31
_NOT_TAKEN = re.compile(rb"exec (/[^\n]{1,4096}): no such file or directory\n?")


def explained(program: str, code: int, words: str) -> bytes:
    """Stderr of a program that the engine could not start, whose words these are.

    The kernel says "no such file" of a script that is there when its interpreter is not.
    """
    if code == NOT_FOUND and "/" in program:
        words += _no_interpreter(program)
    return words.encode()


def explained_late(code: int | None, stderr: bytes) -> bytes:
    """What is added to the stderr of a program that ended: the runtime may learn only when it becomes the
    program that the kernel does not take it, and says so there, with an exit status of its own (1 or 255).
    """
    said = _NOT_TAKEN.fullmatch(stderr)
    return b"" if said is None or not code else _no_interpreter(said[1].decode("utf-8", "replace")).encode()


def _no_interpreter(program: str) -> str:
    return (
        f"\n[scorehost: if {program} is there, what its first line names, or its loader, is not;"
        " a line that ends in CRLF names a file with a carriage return]\n"
    )


def warning_of(name: str, outcome: ExecResult) -> str:
    """What a person should know of how a program in the host `name` ended; "" when it speaks for itself."""
    if outcome.exit_code != SIGSYS_CODE or outcome.timed_out:
        return ""
    return (
        f"a program in {name} ended with exit status {SIGSYS_CODE} (SIGSYS): it made a system call of another"
        " architecture, as every 32-bit program does, and no scoring host allows those; build it for 64 bits"
    )
