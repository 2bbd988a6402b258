"""How a program beside a host's main process ended: one shape for controller, adapters and rows of checks.

`scorehost_sdk.ExecResult` is its twin inside the containers, of the same fields.
"""

from __future__ import annotations

from typing import Any, Literal

from scorehost.model.frozen import Frozen

Reason = Literal["", "timed_out", "oom", "output_limit", "lost"]


class ExecFacts(Frozen):
    """What is known of the end. `exit_code` None: nothing ran, or nobody knows; 124 after a time-out.

    `reason` says why it did not end by itself, in the words of `hosts[].ended` of result.json: `timed_out`,
    `oom`, `output_limit` (its host printed more than output_total_bytes), `lost`; empty when it did.
    """

    exit_code: int | None
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    host_lost: bool = False
    reason: Reason = ""
    duration_seconds: float = 0.0


class ExecResult(ExecFacts):
    """How one program ended, and what it printed. `host_lost`: its host did not live to its end."""

    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def truncated(self) -> bool:
        """Whether either stream lost anything."""
        return self.stdout_truncated or self.stderr_truncated

    def wire(self) -> dict[str, Any]:
        """The value of an exec's reply on the channel; bytes become base64 there."""
        return self.model_dump()

    def as_text(self) -> dict[str, Any]:
        """The fields for a reader of JSON: bytes that are not UTF-8 come out replaced, `truncated` beside."""
        return {
            **self.model_dump(),
            "stdout": self.stdout.decode("utf-8", "replace"),
            "stderr": self.stderr.decode("utf-8", "replace"),
            "truncated": self.truncated,
        }
