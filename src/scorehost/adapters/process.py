"""One adapter process: its own session, pipes without threads, an end that takes its whole group along."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio
import anyio.lowlevel
import structlog

from scorehost.adapters.users import AdapterUser

CHUNK = 64 * 1024
REAP_SECONDS = 3.0  # a killed process that the kernel does not give back in this time is told, and left
_POLL_SECONDS = 0.02
_log = structlog.get_logger("scorehost.adapters")


class Process:
    """A started program. Its exit is seen before it is reaped, so that its group's number stays its own until
    the group was killed: a number that is free may be a stranger's.
    """

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen
        self.stdin, self.stdout, self.stderr = (
            pipe.fileno() for pipe in (popen.stdin, popen.stdout, popen.stderr) if pipe is not None
        )
        for descriptor in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)
        self._stdin_open = True
        self._pidfd: int | None = None
        with contextlib.suppress(OSError, AttributeError):  # not on every kernel: then the end is polled for
            self._pidfd = os.pidfd_open(popen.pid)

    async def write(self, data: bytes) -> None:
        """Sends all of `data`; stops silently when the other side has closed, as it may."""
        view = memoryview(data)
        while view and self._stdin_open:
            try:
                view = view[os.write(self.stdin, view[:CHUNK]) :]
                await anyio.lowlevel.checkpoint()
            except BlockingIOError:
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self.stdin)
            except BrokenPipeError:
                return

    def close_stdin(self) -> None:
        """End of file for the program."""
        if self._stdin_open:
            self._stdin_open = False
            anyio.notify_closing(self.stdin)  # a write that waits there gives up
            _close(self._popen.stdin)

    async def read(self, descriptor: int) -> bytes:
        """The next bytes of `stdout` or `stderr`; empty at its end."""
        while True:
            try:
                data = os.read(descriptor, CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(descriptor)
            else:
                await anyio.lowlevel.checkpoint()
                return data

    async def exited(self) -> None:
        """Returns when the program has ended, whoever still holds its pipes."""
        while not self._over():
            if self._pidfd is None:
                await anyio.sleep(_POLL_SECONDS)
            else:
                await anyio.wait_readable(self._pidfd)

    def _over(self) -> bool:
        if self._popen.returncode is not None:
            return True
        return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    async def end(self) -> int | None:
        """Kills the group, reaps the program, closes the pipes. Its exit status as a shell has it (137 for
        one that was killed); None when the kernel does not give it back. Shield it from cancellation.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        with anyio.move_on_after(REAP_SECONDS):
            await self.exited()
        code = self._popen.poll()
        self.close_stdin()
        _close(self._popen.stdout)
        _close(self._popen.stderr)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        if code is None:
            self._popen.returncode = -signal.SIGKILL  # else Python complains about it for ever
            _log.warning("an adapter's process does not end", pid=self._popen.pid)
            return None
        return 128 - code if code < 0 else code


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        pipe.close()


def start(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], user: AdapterUser | None
) -> Process:
    """Starts `argv` with nothing inherited but what is given. OSError when it cannot be started.

    Takes some milliseconds of the caller's time, as every fork does.
    """
    popen = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=cwd,
        env=dict(environment),
        close_fds=True,
        start_new_session=True,
        umask=0o077,
        user=user.uid if user else None,
        group=user.gid if user else None,
        extra_groups=[] if user else None,
    )
    return Process(popen)
