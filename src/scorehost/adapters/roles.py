"""Roles that are bound and ready: the one way to call an agent.

async with open_roles(profiles, base=folder, names=["judge"], ids=SeenIds()) as roles:
    call = await roles.call("judge", SessionRequest(role="judge", session_id="1", turn=1, prompt="…"))
    call.reply or call.fault
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from scorehost.adapters.abandoned import remove_abandoned
from scorehost.adapters.calls import Call, Calling
from scorehost.adapters.command import CommandExecutor, Launch
from scorehost.adapters.endpoint import ASKED_AGAIN, open_endpoint
from scorehost.adapters.execs import ExecCall
from scorehost.adapters.pace import Pace
from scorehost.adapters.registry import RequestIds
from scorehost.adapters.requests import AdapterRequest
from scorehost.adapters.tries import Executor
from scorehost.adapters.users import AdapterUser, check_user, find_user
from scorehost.aio.retry import Retry
from scorehost.aio.threads import in_thread
from scorehost.errors import UsageError
from scorehost.model.call import MODES, Mode
from scorehost.model.frozen import Frozen
from scorehost.model.masking import Masker, names_a_file
from scorehost.spec.commands import ResolvedCommand, resolve_command
from scorehost.spec.digests import role_digest
from scorehost.spec.own_secrets import secrets_in_files
from scorehost.spec.profiles import Profiles
from scorehost.spec.roles import ENDPOINT_MODES, REFERENCE, Role


class Bound(Frozen):
    """What a role is bound to, for the job's record. Nothing in it is secret.

    `isolation`: `none`, or the user that its adapter runs as; None for an endpoint. `digest`: of who
    answers.
    """

    role: Role
    command: ResolvedCommand | None
    isolation: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class _Ready:
    bound: Bound
    modes: tuple[Mode, ...]
    executor: Executor
    pace: Pace
    asked_again: Retry


class Roles:
    """Bound roles; safe to use from many tasks at once. Made by `open_roles`."""

    def __init__(self, ready: Mapping[str, _Ready], ids: RequestIds, masker: Masker) -> None:
        self._ready, self._ids = ready, ids
        self.masker = masker
        """Knows the values of the roles' secrets: for whatever else is kept of the job."""

    @property
    def bound(self) -> dict[str, Bound]:
        """What each role is bound to, by name."""
        return {name: ready.bound for name, ready in self._ready.items()}

    @property
    def isolation(self) -> str:
        """`adapter_isolation` of the job: `none` unless every adapter runs as another user (then who)."""
        users = {each.bound.isolation for each in self._ready.values() if each.bound.isolation is not None}
        return "none" if not users or "none" in users else ", ".join(sorted(users))

    async def call(
        self,
        name: str,
        request: AdapterRequest,
        *,
        exec_call: ExecCall | None = None,
        environment: str | None = None,
        once: bool = False,
    ) -> Call:
        """One call of the role `name`: its tries, and how it ended. Never raises for what an adapter does.

        `exec_call`: the session is tied to a host, named `environment`, and the adapter may ask for execs
        there. What `exec_call` raises comes out as it is, once the adapter's process is dead. A cancel ends
        the process and everything of it, within a few seconds. `once`: nothing is tried again, whatever the
        role's `retries` and the other side say. Counting against a budget is the caller's, before the call.
        """
        ready = self._ready.get(name)
        calling = Calling(name, ready.bound.role if ready else None, request, environment, self.masker)
        if ready is None or request.mode not in ready.modes:
            what = (
                "has no binding" if ready is None else f"does not play the mode {request.mode} (its `modes`)"
            )
            return calling.missing(f"the role `{name[:60]}` {what}")
        role = ready.bound.role
        return await calling.run(
            ready.executor,
            ready.pace,
            self._ids,
            exec_call,
            asked_again=Retry(1) if once else ready.asked_again,
            whole=Retry(1 if once else role.retries + 1),
        )


@asynccontextmanager
async def open_roles(
    profiles: Profiles,
    *,
    base: Path,
    names: Collection[str],
    ids: RequestIds,
    environment: Mapping[str, str],
    masker: Masker | None = None,
    private: Sequence[Path] = (),
) -> AsyncIterator[Roles]:
    """The roles `names` of `profiles`, ready to be called until the block ends.

    `base`: the folder of profiles.yaml. `environment`: where the values of `pass_env` and `api_key` are taken
    from (os.environ). `masker`: knows secrets of the job already; those of the roles are added. `private`:
    what an `adapter_user` must not be able to read (dataset, runs folder) or write (the engine's socket).
    Raises UsageError before anything starts: a role without a binding, a variable that is not set (of all
    roles at once), a program that has gone, a user that cannot be used, a key that no header can carry. What
    calls of killed jobs left on this machine goes first.
    """
    unbound = [name for name in names if name not in profiles.agent_profiles]
    if unbound:
        hint = "Bind it in profiles.yaml under agent_profiles"
        raise UsageError(f"the role `{unbound[0][:60]}` has no binding", hint=hint)
    chosen = {name: profiles.agent_profiles[name] for name in sorted(set(names))}
    values = _values(chosen, environment)
    secret = [value for name, value in values.items() if not names_a_file(name)]
    inside = await in_thread(lambda: secrets_in_files(values), anyio.CapacityLimiter(1))
    known = (masker or Masker()).also([*secret, *inside])
    await in_thread(remove_abandoned, anyio.CapacityLimiter(1))
    async with AsyncExitStack() as stack:
        opening = _Opening(stack, profiles, base, values, known, private)
        yield Roles({name: await opening.ready(name, role) for name, role in chosen.items()}, ids, known)


def _values(roles: Mapping[str, Role], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the roles need."""
    wanted = {variable: name for name, role in roles.items() for variable in role.secret_names}
    unset = [
        f"{variable} (role {name})" for variable, name in wanted.items() if not environment.get(variable)
    ]
    if unset:
        hint = "Set them, or bind the roles differently; values never stand in profiles.yaml"
        raise UsageError(f"variables that roles need are not set: {', '.join(unset)}", hint=hint)
    return {variable: environment[variable] for variable in wanted}


@dataclass(frozen=True, slots=True)
class _Opening:
    """What the opening of each role needs."""

    stack: AsyncExitStack
    profiles: Profiles
    base: Path
    values: Mapping[str, str]
    masker: Masker
    private: Sequence[Path]

    async def ready(self, name: str, role: Role) -> _Ready:
        pace = Pace(role.max_concurrent, role.requests_per_minute)
        if role.executor == "openai":
            reference = REFERENCE.fullmatch(role.api_key or "")
            key = self.values[reference[1]] if reference else None
            endpoint = await self.stack.enter_async_context(open_endpoint(role, key, self.masker))
            modes = tuple(mode for mode in role.modes or ENDPOINT_MODES if mode in ENDPOINT_MODES)
            bound = Bound(role=role, command=None, isolation=None, digest=role_digest(role, None))
            return _Ready(bound, modes, endpoint, pace, ASKED_AGAIN)
        try:
            command = resolve_command(role.command, self.base)
        except (ValueError, OSError) as error:
            raise UsageError(f"profiles.yaml, agent_profiles.{name}.command: {error}") from None
        user = await self._user(role.adapter_user or self.profiles.adapter_user, command)
        passed = {variable: self.values[variable] for variable in role.pass_env}
        launch = Launch(role=role, command=command, passed=passed, user=user, masker=self.masker)
        bound = Bound(
            role=role,
            command=command,
            isolation=user.name if user else "none",
            digest=role_digest(role, command),
        )
        return _Ready(bound, role.modes or MODES, CommandExecutor(launch), pace, Retry(1))

    async def _user(self, name: str | None, command: ResolvedCommand) -> AdapterUser | None:
        if name is None:
            return None
        user = find_user(name)
        needed = [Path(path) for path in (command.argv[0], command.script) if path is not None]
        await in_thread(
            lambda: check_user(user, private=self.private, needed=needed), anyio.CapacityLimiter(1)
        )
        return user
