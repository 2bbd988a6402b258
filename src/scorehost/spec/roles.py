"""A role of profiles.yaml: who plays it, and the rules that go beyond the shape of its keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from scorehost.model.call import Mode
from scorehost.model.frozen import Frozen
from scorehost.spec.commands import command_fault
from scorehost.spec.yaml_tree import Loc, Map, find

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scorehost.spec.problems import Problems

ROLE_ID = re.compile(r"[a-z][a-z0-9_-]{0,62}")
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What the adapter call sets itself.
OWN_VARIABLES = ("PATH", "LANG", "LC_ALL", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")
# What the request to an endpoint sets itself.
OWN_PARAMETERS = ("model", "messages", "stream", "stream_options", "n", "tools", "functions")
ENDPOINT_MODES: tuple[Mode, ...] = ("session", "judge")


class Role(Frozen):
    """One binding. `command` is for executor `command`, `base_url` and `api_key` are for `openai`.

    `timeout_seconds` is for one call without its `retries`; `modes` None: all that the executor can play.
    `phases`: where in an attempt it may be asked.
    `adapter_user` None: the one of the whole file.
    """

    executor: Literal["command", "openai"]
    command: tuple[str, ...] = ()
    base_url: str | None = None
    api_key: str | None = None
    model: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    timeout_seconds: float = Field(180, gt=0, le=3600)
    pass_env: tuple[str, ...] = ()
    retries: int = Field(0, ge=0, le=10)
    modes: tuple[Mode, ...] | None = None
    phases: tuple[Literal["run", "evaluate"], ...] = Field(("run", "evaluate"), min_length=1)
    max_concurrent: int | None = Field(None, ge=1, le=1024)
    requests_per_minute: float | None = Field(None, gt=0, le=1_000_000)
    adapter_user: str | None = Field(None, min_length=1)

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The environment variables whose values the role needs."""
        reference = REFERENCE.fullmatch(self.api_key or "")
        return tuple(dict.fromkeys((*self.pass_env, *([reference[1]] if reference else []))))


def check_roles(
    roles: Mapping[str, Role], tree: Map, problems: Problems, *, base: Path, told: set[Loc]
) -> None:
    """Adds what is wrong with roles, not at places that were `told`; `base`: what scripts are relative to."""
    for name, role in roles.items():
        loc: Loc = ("agent_profiles", name)
        if not ROLE_ID.fullmatch(name):
            text = "a role's name is small letters, digits, `_` and `-`, at most 63, and begins with a letter"
            problems.add(find(tree, loc).key_place, "agent_profiles", text, "Rename it")
        for key, text, hint in _faults(role, base):
            found = find(tree, (*loc, key))
            if any(place[: len(loc) + 1] == (*loc, key) for place in told):
                continue
            problems.add(found.place, f"agent_profiles.{name}.{key}"[:200], text, hint)


def _faults(role: Role, base: Path) -> list[tuple[str, str, str]]:
    found = _command_faults(role, base) if role.executor == "command" else _endpoint_faults(role)
    for name in role.pass_env:
        if not _VARIABLE.fullmatch(name):
            found.append(("pass_env", "names of environment variables are wanted", "Write names, no values"))
        elif name in OWN_VARIABLES:
            text = f"{', '.join(OWN_VARIABLES)} are set by scorehost for every call"
            found.append(("pass_env", text, "Remove it"))
    if role.modes == ():
        found.append(("modes", "is empty, so the role could do nothing", "Name a mode, or leave the key out"))
    return found


def _command_faults(role: Role, base: Path) -> list[tuple[str, str, str]]:
    found = [
        (key, "is for `executor: openai`", "Remove it")
        for key in ("base_url", "api_key")
        if getattr(role, key) is not None
    ]
    fault = command_fault(role.command, base)
    return [*found, ("command", *fault)] if fault else found


def _endpoint_faults(role: Role) -> list[tuple[str, str, str]]:
    found = []
    if role.command:
        found.append(("command", "is for `executor: command`", "Remove it"))
    if role.base_url is None or not re.fullmatch(r"https?://[^/\s]+(/\S*)?", role.base_url):
        text = "the address of an OpenAI-compatible endpoint is wanted"
        found.append(
            ("base_url", text, "Write it with http:// or https://, such as http://127.0.0.1:8000/v1")
        )
    if role.api_key is not None and not REFERENCE.fullmatch(role.api_key):
        found.append(("api_key", "a reference is wanted", "Write `${NAME}`, and keep the value in NAME"))
    if not role.model:
        found.append(("model", "the name of a model is wanted", "Write the name that the endpoint knows"))
    taken = [name for name in OWN_PARAMETERS if name in role.parameters]
    if taken:
        text = f"{', '.join(taken)}: the request sets this itself"
        found.append(("parameters", text, "Remove it"))
    if any(mode not in ENDPOINT_MODES for mode in role.modes or ()):
        text = "an endpoint plays session and judge only: it loads no plugin"
        found.append(("modes", text, "Use `executor: command` for behavior and trigger"))
    if role.adapter_user is not None:
        found.append(("adapter_user", "is for `executor: command`", "Remove it"))
    return found
