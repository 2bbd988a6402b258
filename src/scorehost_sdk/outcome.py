"""What a program in a scoring host did."""

from __future__ import annotations

import base64
from typing import Any, Dict, NamedTuple, Optional


class ExecResult(NamedTuple):
    """The end of one process. An exit code is never a verdict: what it means is the evaluator's to say.

    `stdout` and `stderr` are text with undecodable bytes replaced; the bytes stand beside them. `exit_code`
    is 124 after a timeout and 137 after the loss of the host. `duration_seconds` is wall time.
    """

    exit_code: Optional[int]
    stdout: str
    stderr: str
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    truncated: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    host_lost: bool = False
    duration_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """It ended by itself with exit code 0."""
        return self.exit_code == 0 and not (self.timed_out or self.oom_killed or self.host_lost)

    @classmethod
    def from_wire(cls, value: Dict[str, Any]) -> ExecResult:
        """The result in a reply of the controller."""
        stdout, stderr = base64.b64decode(value["stdout"]), base64.b64decode(value["stderr"])
        return cls(
            exit_code=value["exit_code"],
            stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr.decode("utf-8", "replace"),
            stdout_bytes=stdout,
            stderr_bytes=stderr,
            truncated=value["truncated"],
            timed_out=value["timed_out"],
            oom_killed=value["oom_killed"],
            host_lost=value["host_lost"],
            duration_seconds=value["duration_seconds"],
        )
