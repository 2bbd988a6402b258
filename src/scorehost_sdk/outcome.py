"""What a program in a scoring host did."""

from __future__ import annotations

import base64
from typing import Any, Dict, NamedTuple, Optional


class ExecResult(NamedTuple):
    """The end of one process. An exit code is never a verdict: what it means is the evaluator's to say.

    `stdout` and `stderr` are text with undecodable bytes replaced; the bytes stand beside them. `exit_code`
    is 124 after a timeout, and None when nothing ran or nobody knows it, as after the loss of the host.
    `reason` is empty when it ended by itself, else `timed_out`, `oom`, `output_limit` (its host printed more
    than limits.output_total_bytes) or `lost`. `duration_seconds` is wall time.
    """

    exit_code: Optional[int]
    stdout: str
    stderr: str
    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    host_lost: bool = False
    reason: str = ""
    duration_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """It ended by itself with exit code 0."""
        return self.exit_code == 0 and not (self.timed_out or self.oom_killed or self.host_lost)

    @property
    def truncated(self) -> bool:
        """Whether the middle of either stream was left out."""
        return self.stdout_truncated or self.stderr_truncated

    @classmethod
    def from_wire(cls, value: Dict[str, Any]) -> ExecResult:
        """The result in a reply of the controller."""
        stdout, stderr = base64.b64decode(value["stdout"]), base64.b64decode(value["stderr"])
        rest = {name: value[name] for name in _TOLD}
        return cls(
            stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr.decode("utf-8", "replace"),
            stdout_bytes=stdout,
            stderr_bytes=stderr,
            **rest,
        )


_TOLD = [name for name in ExecResult._fields if not name.startswith(("stdout", "stderr")) or "trunc" in name]
