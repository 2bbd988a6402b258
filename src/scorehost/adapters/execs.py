"""Execs that an adapter asks for in the host that its session is tied to: the JSON lines both ways."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

from scorehost.adapters.faults import failed
from scorehost.model.exec_result import ExecResult
from scorehost.model.frozen import Frozen

_KEYS = {"argv", "stdin", "timeout"}


class ExecAsk(Frozen):
    """What to run. `timeout` in seconds; None: what the host allows."""

    argv: tuple[str, ...]
    stdin: str | None = None
    timeout: float | None = None


class NotRun(Exception):
    """Nothing was run, and the adapter is told why; the call goes on."""


def wire(answer: ExecResult | NotRun) -> dict[str, Any]:
    """`{"exec_result": …}`; bytes that are not UTF-8 come out replaced. `error`: why nothing was run."""
    if isinstance(answer, NotRun):
        return {"exec_result": {**ExecResult(exit_code=None).as_text(), "error": str(answer)}}
    return {"exec_result": {**answer.as_text(), "error": ""}}


ExecCall = Callable[[ExecAsk], Awaitable[ExecResult]]
"""Runs one exec in the host of the session. NotRun is told to the adapter; anything else that it raises ends
the call and comes out of `Roles.call`."""


def read_ask(value: Any) -> ExecAsk:
    """The request in `{"exec": value}`. CallFailed (adapter_malformed) names what is wrong."""
    if not isinstance(value, dict) or set(value) - _KEYS:
        text = f"an exec must be an object of {', '.join(sorted(_KEYS))}"
        raise failed("adapter_malformed", text)
    fault = _fault(value)
    if fault:
        raise failed("adapter_malformed", f"an exec that the adapter asked for: {fault}")
    timeout = value.get("timeout")
    return ExecAsk(
        argv=tuple(value["argv"]),
        stdin=value.get("stdin"),
        timeout=None if timeout is None else float(timeout),
    )


def _fault(value: dict[str, Any]) -> str:
    argv, stdin, timeout = value.get("argv"), value.get("stdin"), value.get("timeout")
    if not isinstance(argv, list) or not argv or not all(isinstance(part, str) for part in argv):
        return "`argv` must be a list of texts, and not empty"
    if any("\0" in part for part in argv):
        return "`argv` holds a NUL"
    if stdin is not None and not isinstance(stdin, str):
        return "`stdin` must be text or null"
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (number and timeout > 0 and math.isfinite(timeout)):
        return "`timeout` must be seconds above 0, or null"
    return ""
