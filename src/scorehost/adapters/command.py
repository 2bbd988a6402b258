"""`executor: command`: one try of a call by a fresh process in fresh folders."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog

from scorehost.adapters.execs import ExecCall
from scorehost.adapters.folders import FOREIGN, CallFolders, make_folders, remove_folders, translated
from scorehost.adapters.leftovers import kill_leftovers
from scorehost.adapters.process import REAP_SECONDS, Process, start
from scorehost.adapters.requests import ARCHIVE, AdapterRequest, BehaviorRequest
from scorehost.adapters.talk import Talk
from scorehost.adapters.tries import Outcome
from scorehost.adapters.users import AdapterUser
from scorehost.aio.threads import in_thread
from scorehost.errors import CallFailed
from scorehost.foreign import translating
from scorehost.model import json
from scorehost.model.call import Fault, Folders
from scorehost.model.masking import Masker
from scorehost.spec.commands import FIXED_PATH, MODEL, PARAMETERS, ResolvedCommand
from scorehost.spec.roles import Role

CLEANUP_SECONDS = 10.0  # removing folders and leftovers; what is left after it is told by its path
# EX_DATAERR of sysexits.h: an adapter's word for a request that was refused for what it says, not for who
# asks or when.
REFUSED_STATUS = 65
_THREADS = 8
_log = structlog.get_logger("scorehost.adapters")


@dataclass(frozen=True, slots=True)
class Launch:
    """What every process of a role is started with; `passed` are the values of its `pass_env`."""

    role: Role
    command: ResolvedCommand
    passed: Mapping[str, str]
    user: AdapterUser | None
    masker: Masker

    @property
    def argv(self) -> tuple[str, ...]:
        """The command, with the profile's model and parameters where they are asked for."""
        parameters = json.canonical(self.role.parameters).decode()
        values = {MODEL: self.role.model, PARAMETERS: parameters}
        return tuple(values.get(part, part) for part in self.command.argv)


class CommandExecutor:
    """Plays a role by starting its command once a try."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._state = _state(launch.command)
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def attempt(self, request: AdapterRequest, exec_call: ExecCall | None, seconds: float) -> Outcome:
        """One try, which takes at most `seconds` and a little for the end of the process.

        What `exec_call` raises comes out as it is; every other failure is the outcome's `fault`.
        """
        launch = self._launch
        if _state(launch.command) != self._state:
            text = "the adapter's program or script is not the one that was there when the job began"
            return Outcome(request=_bytes(request, None, exec_call), fault=Fault.of("adapter_missing", text))
        try:
            async with self._folders() as folders:
                return await self._in(folders, request, exec_call, seconds)
        except CallFailed as wrong:  # none of an exec: those raise something else
            return Outcome(request=_bytes(request, None, exec_call), fault=wrong.fault)

    async def _in(
        self, folders: CallFolders, request: AdapterRequest, exec_call: ExecCall | None, seconds: float
    ) -> Outcome:
        launch = self._launch
        with translating(FOREIGN, translated):
            archive = _archive(request, folders, launch.user)
        data = _bytes(request, archive, exec_call)
        before = await in_thread(folders.digests, self._threads)
        try:
            process = start(
                launch.argv,
                cwd=folders.work,
                environment=_environment(launch.passed, folders),
                user=launch.user,
            )
        except OSError as error:
            text = f"the adapter's program cannot be started: {error.strerror}"
            return Outcome(request=data, fault=Fault.of("adapter_missing", text))
        talk = Talk(process, data, launch.masker, exec_call)
        late, code = await self._talk(talk, process, folders, seconds)
        if talk.broken is not None:
            raise talk.broken
        after = await in_thread(folders.digests, self._threads)
        fault = _fault(talk, seconds, code, late=late)
        return _outcome(talk, data, fault, code, Folders(before=before, after=after))

    async def _talk(
        self, talk: Talk, process: Process, folders: CallFolders, seconds: float
    ) -> tuple[bool, int | None]:
        """Whether the deadline came first, and the exit status once everything of the call is dead."""
        late, code = False, None
        try:
            with anyio.move_on_after(seconds) as deadline:
                await talk.run()
            late = deadline.cancelled_caught and not talk.exited
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(REAP_SECONDS + CLEANUP_SECONDS):
                code = await process.end()
                home = folders.environment["HOME"]
                await in_thread(lambda: kill_leftovers(home), self._threads)
            talk.close()
        return late, code

    @asynccontextmanager
    async def _folders(self) -> AsyncIterator[CallFolders]:
        user = self._launch.user
        with translating(FOREIGN, translated):
            folders = make_folders((user.uid, user.gid) if user else None)
        try:
            yield folders
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLEANUP_SECONDS) as limit:
                await in_thread(lambda: remove_folders(folders), self._threads)
            if limit.cancelled_caught:
                _log.warning("a call's folder takes long to remove", command=f"rm -rf {folders.root}")


def _state(command: ResolvedCommand) -> tuple[tuple[int, int, int] | None, ...]:
    """What tells that a file was changed, without reading it again."""
    return tuple(_stat(path) for path in (command.argv[0], command.script) if path is not None)


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _bytes(request: AdapterRequest, archive: Path | None, exec_call: ExecCall | None) -> bytes:
    return json.canonical(request.wire(tied=exec_call is not None, archive=archive)) + b"\n"


def _archive(request: AdapterRequest, folders: CallFolders, user: AdapterUser | None) -> Path | None:
    if not isinstance(request, BehaviorRequest) or request.plugin_archive is None:
        return None
    path = folders.work / ARCHIVE
    path.write_bytes(request.plugin_archive)
    path.chmod(0o400)
    if user is not None:
        os.chown(path, user.uid, user.gid)
    return path


def _environment(passed: Mapping[str, str], folders: CallFolders) -> dict[str, str]:
    fixed = {"PATH": FIXED_PATH, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    return {**passed, **fixed, **folders.environment}


def _fault(talk: Talk, seconds: float, code: int | None, *, late: bool) -> Fault | None:
    if late:
        text = f"the adapter did not answer and end within {seconds:g} s (timeout_seconds)"
        return Fault.of("adapter_timeout", text)
    if talk.held and talk.fault is None:
        text = "the adapter ended and left a process behind that holds its stdout open"
        return Fault.of("adapter_exit", text)
    # A status of its own tells more than what it failed to print; 137 after our own kill tells nothing.
    silent = talk.fault is None or talk.fault.kind == "adapter_malformed"
    if talk.exited and code == REFUSED_STATUS and silent:
        text = f"the adapter ended with status {code}: the provider refuses this very request"
        return Fault.of("adapter_refused", text)
    if talk.exited and code != 0 and silent:
        return Fault.of("adapter_exit", f"the adapter ended with status {code}")
    return talk.fault


def _outcome(talk: Talk, request: bytes, fault: Fault | None, code: int | None, folders: Folders) -> Outcome:
    stdout, stderr = talk.stdout.end(), talk.stderr.end()
    return Outcome(
        request=request,
        value=talk.reply if fault is None else None,
        fault=fault,
        reply_data=stdout,
        reply_bytes=talk.stdout.size,
        reply_sha256=talk.stdout.sha256,
        reply_masked=talk.stdout.masked or talk.rewritten,
        stderr_data=stderr,
        stderr_bytes=talk.stderr.size,
        exit_code=code,
        folders=folders,
        execs=tuple(talk.execs),
    )
