"""Digests of what task.yaml, profiles.yaml and a role's binding say, as formats `/2` write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scorehost.errors import UsageError
from scorehost.model import json
from scorehost.model.canonical import jcs_digest
from scorehost.model.frozen import as_bound

if TYPE_CHECKING:
    from scorehost.spec.commands import ResolvedCommand
    from scorehost.spec.profiles import Profiles
    from scorehost.spec.roles import Role
    from scorehost.spec.task import TaskSpec


def task_digest(spec: TaskSpec, *, first: bool = False) -> str:
    """Over the whole of task.yaml; `first`: as formats `/1` took it. Raises UsageError."""
    return _digest(spec.task_id, as_bound(spec), first=first)


def measure_digests(spec: TaskSpec, *, first: bool = False) -> tuple[str, str]:
    """Over task.yaml without its limits, and over these alone. Raises UsageError."""
    said = as_bound(spec)
    limits = _digest(spec.task_id, said.pop("limits"), first=first)
    return _digest(spec.task_id, said, first=first), limits


def profile_digest(profiles: Profiles, *, first: bool = False) -> str:
    """Over profiles.yaml as it was read. Raises UsageError."""
    return _digest("profiles.yaml", as_bound(profiles), first=first)


def role_digest(role: Role, command: ResolvedCommand | None) -> str:
    """Over what answers for a role: executor, model, parameters, and the adapter's arguments and files.

    Not over where an endpoint is, how long it may take or how often it is asked: these change no reply.
    Raises UsageError.
    """
    said: dict[str, Any] = {
        "arguments": list(role.command),
        "executor": role.executor,
        "files": {}
        if command is None
        else {"program": command.program_sha256, "script": command.script_sha256},
        "model": role.model,
        "parameters": role.parameters,
    }
    return _digest("profiles.yaml, agent_profiles", said, first=False)


def _digest(what: str, value: Any, *, first: bool) -> str:
    if first:
        return json.digest(value)
    try:
        return jcs_digest(value)
    except json.BadJson as error:
        raise UsageError(
            f"{what} has no canonical form: {error}.", hint="Digests that others can check need one."
        ) from None
