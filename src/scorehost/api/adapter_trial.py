"""Trying an adapter out before a job relies on it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

from scorehost.adapters import trial
from scorehost.errors import UsageError
from scorehost.model.call import MODES, Mode
from scorehost.spec.commands import command_fault
from scorehost.spec.roles import Role


def try_adapter(
    command: Sequence[str],
    *,
    modes: Collection[Mode] = MODES,
    pass_env: Sequence[str] = (),
    timeout_seconds: float = 60,
    prompt: str | None = None,
) -> AsyncIterator[trial.Trial]:
    """Starts `command` once for each request of each of `modes`, as a job would, and says what is wrong.

    A script is relative to the working directory. `pass_env`: names of variables that the adapter gets.
    Raises UsageError for a command that is not there or a variable that is not set.
    """
    fault = command_fault(tuple(command), Path.cwd())
    if fault:
        raise UsageError(f"the adapter's command: {fault[0]}", hint=fault[1])
    role = Role(
        executor="command",
        command=tuple(command),
        pass_env=tuple(pass_env),
        timeout_seconds=timeout_seconds,
    )
    return trial.try_adapter(
        role, base=Path.cwd(), environment=os.environ, modes=modes, prompt=prompt or trial.PROMPT
    )
