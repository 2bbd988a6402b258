"""What a Docker engine does with processes beside a container's main one."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from scorehost.engine.calls import BRIEFLY_UNAVAILABLE, RETRY, Call, Caller
from scorehost.engine.hijack import hijack
from scorehost.engine.paths import quoted
from scorehost.errors import Conflict, EngineRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from scorehost.engine.door import Stream
    from scorehost.engine.endpoint import Endpoint
    from scorehost.engine.pulse import Pulse


class DockerExecs:
    """The part of a Docker engine that knows execs."""

    _caller: Caller
    _endpoint: Endpoint
    _prefix: str
    _pulse: Pulse

    async def exec_create(
        self,
        container: str,
        argv: Iterable[str],
        *,
        user: int,
        env: Mapping[str, str],
        workdir: str,
        stdin: bool,
    ) -> str:
        """Prepares a process in a running container, gives the exec's id; Conflict when it does not run."""
        body = {
            "Cmd": list(argv),
            "User": f"{user}:{user}",
            "Env": [f"{name}={value}" for name, value in env.items()],
            "WorkingDir": workdir,
            "AttachStdin": stdin,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": False,
            "Privileged": False,
        }
        path = f"/containers/{quoted(container)}/exec"
        # One that is prepared twice runs once: the other is never started, and goes with the container.
        call = Call(f"prepare a process in the container {container}", "POST", path, body=body, again=True)
        return str((await self._caller.call(call))["Id"])

    @asynccontextmanager
    async def exec_start(self, exec_id: str) -> AsyncIterator[Stream]:
        """Starts it and gives its stream."""
        path = f"{self._prefix}/exec/{quoted(exec_id)}/start"
        doing = f"start the process {exec_id[:12]}"

        def opening() -> AbstractAsyncContextManager[Stream]:
            return hijack(
                self._endpoint, path, doing=doing, body={"Detach": False, "Tty": False}, pulse=self._pulse
            )

        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(opening())
            except EngineRefused as error:
                if error.status not in BRIEFLY_UNAVAILABLE or await self.exec_begun(exec_id):
                    raise
                await RETRY.wait(1)
                try:
                    stream = await stack.enter_async_context(opening())
                except Conflict:
                    raise error from None  # it had begun after all
            yield stream

    async def exec_begun(self, exec_id: str) -> bool:
        """Whether the engine has tried to start it: it runs, or has an exit code, a refused start's too."""
        answer = await self._exec(exec_id)
        return bool(answer["Running"]) or answer["ExitCode"] is not None

    async def exec_exit_code(self, exec_id: str) -> int | None:
        """Its exit code; None while it runs."""
        answer = await self._exec(exec_id)
        return None if answer["Running"] or answer["ExitCode"] is None else int(answer["ExitCode"])

    async def exec_ran(self, exec_id: str) -> bool:
        """Whether it ever had a process: the engine keeps its number after its end."""
        return bool((await self._exec(exec_id))["Pid"])

    async def _exec(self, exec_id: str) -> Any:
        path = f"/exec/{quoted(exec_id)}/json"
        return await self._caller.call(Call(f"look the process {exec_id[:12]} up", "GET", path, again=True))
