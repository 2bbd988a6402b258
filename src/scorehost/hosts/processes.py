"""Processes that an evaluator keeps open in a host and talks to."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import NoReturn

import anyio
from anyio.abc import TaskStatus

from scorehost.aio.groups import task_group
from scorehost.engine.door import Stream
from scorehost.errors import (
    AttemptFailed,
    Conflict,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    NotFound,
)
from scorehost.hosts.blueprint import HARNESS
from scorehost.hosts.exec_ends import (
    STILL_RUNNING,
    Kills,
    NotStarted,
    code_at_deadline,
    code_unless_blamed,
    exit_code,
    lost_with,
    never_ran,
    note_loss,
    reason_of,
    refuse_broken_off,
    refuse_lost_by_others,
    says_of_program,
    taken_along,
    told_of_trouble,
)
from scorehost.hosts.execs import DRAIN_SECONDS, End, ExecOrder, Output, opened_exec, started_exec
from scorehost.hosts.host import Host
from scorehost.model.blame import Ran, Trouble
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import Phase, failure

UNREAD_BYTES = 4 * 1024 * 1024  # per process: then it has to wait until the evaluator reads
UNSENT_BYTES = 16 * 1024 * 1024
CLOSE_SECONDS = 0.5  # for a process to end by itself when its stdin has ended
SAID_BYTES = 400  # of the last words of a harness that did not come up
READY_SECONDS = 0.05  # for what lies ready in a stream to be read, once the engine has answered
# How the engine's own words begin when it could not start a program; whether it did is asked, not read.
_ENGINES_WORDS = (b"OCI runtime", b"unable to find user", b"unable to find group")


class Process:
    """One open process. `run` carries it in a task of its own until it has ended."""

    def __init__(self, host: Host, order: ExecOrder, end_it: End) -> None:
        self.host = host
        self._order = order
        self._end_it = end_it
        self._begun = time.monotonic()
        self._unread: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._unsent = bytearray()
        self._input_ends = False
        self._rest: Output | None = None  # set by wait(): what was not received then goes there
        self._changed = anyio.Event()
        self._outcome: ExecResult | None = None
        self._exec_id = ""
        self._printed = False
        # It says that it runs before it loads anything that was submitted.
        self._unheard_harness = HARNESS in order.argv
        self._said = b""
        self._given = False  # somebody knows it, and will close it
        self._not_started: NotStarted | None = None
        self._kills = Kills(host)
        self._before = host.ran

    async def run(self, *, task_status: TaskStatus[Process | None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Carries the process; `task_status` gives it once it runs, or None."""
        self._before = self.host.ran
        try:
            exec_id = await started_exec(self.host, self._order)
        except (EngineRefused, EngineTimeout) as error:
            self._end(await told_of_trouble(self.host, error, ran=self._before))
            task_status.started(None)
            return
        if exec_id is None:
            await note_loss(self.host)
            self._end(await lost_with(self.host))
            task_status.started(None)
            return
        self._exec_id = exec_id
        self.host.execs += 1
        self.host.opened += 1
        try:
            await self._carry(exec_id, opened_exec(self.host, exec_id, self._cut_off), task_status)
        finally:
            self.host.opened -= 1

    async def _cut_off(self) -> None:
        """Ends what nobody was told of. What is cut off later goes with its host, as the evaluation ends."""
        if not self._given:
            await self._end_it()

    async def _carry(
        self,
        exec_id: str,
        opening: AbstractAsyncContextManager[Stream],
        task_status: TaskStatus[Process | None],
    ) -> None:
        words = b""
        ran = self._before
        try:
            async with opening as stream, task_group() as group:
                task_status.started(self)
                self._given = True
                ran = self.host.ran
                group.start_soon(self._send_all, stream)
                while not self.host.flooded and (chunk := await stream.receive()) is not None:
                    if (
                        not self._printed
                        and chunk.data.startswith(_ENGINES_WORDS)
                        and await self._never_ran()
                    ):
                        words = chunk.data
                        continue
                    await self._take(chunk.stream, chunk.data)
                group.cancel_scope.cancel()
            if self.host.flooded:
                await self.host.end("output_limit")  # once its stream is closed: what is not read ends slowly
        except (Conflict, NotFound):
            await note_loss(self.host)
            self._end(await lost_with(self.host))
            return
        except (EngineRefused, EngineTimeout) as error:
            if await says_of_program(self.host, exec_id, error):
                await self._refused(error.message)
            else:
                self._end(await told_of_trouble(self.host, error, ran=ran))
            return
        await self._judge(exec_id, words)

    async def _judge(self, exec_id: str, words: bytes) -> None:
        """Says how it ended, once its output has; `words` are the engine's, when it never began."""
        ended_at = anyio.current_time()
        self._kills.look()
        try:
            code = await exit_code(self.host, exec_id)
        except (EngineRefused, EngineTimeout) as error:
            self._end(await told_of_trouble(self.host, error, ran=self.host.ran))
            return
        refuse_broken_off(self.host, ended_at)
        lost = code is None or await taken_along(self.host, code, self._kills)
        if words and not lost:
            await self._refused(words.decode("utf-8", "replace"))
            return
        if code != 0:
            await refuse_lost_by_others(self.host, gone=lost)
        oom = await self._kills.are_its_own() or (lost and self.host.ended == "oom")
        alone = self._before is Ran.NOTHING and not (lost or oom)
        if self._unheard_harness and alone and code:
            self._no_python(f"exit status {code}: {self._said.decode('utf-8', 'replace')}")
        self._end(
            ExecResult(
                exit_code=None if words else code,
                oom_killed=oom,
                host_lost=lost,
                reason=reason_of(self.host, lost=lost, oom=oom),
                duration_seconds=time.monotonic() - self._begun,
            )
        )

    async def _never_ran(self) -> bool:
        code = await exit_code(self.host, self._exec_id, until=anyio.current_time())
        return await never_ran(self.host, self._exec_id, code)

    async def _refused(self, words: str) -> None:
        """The engine could not start it: its words are no output of a program."""
        try:
            code = code_unless_blamed(self.host, words, ran=self._before)
        except NotStarted as error:
            if error.by_whom_ran and not self.host.blueprint.evaluator:  # the next use is clean
                self.host.told = True
                await self.host.end("lost")
            self._not_started = error
            self._end(ExecResult(exit_code=None))
            return
        if self._unheard_harness:
            self._no_python(words)
        self._unread["stderr"] += words.encode()
        self._end(ExecResult(exit_code=code))

    def _no_python(self, words: str) -> NoReturn:
        """The image cannot run what calls submitted functions, and nothing submitted had a part in that."""
        host = self.host
        said = " ".join(words.split())[-300:]
        text = (
            f"python3 of {host.image_words} of {host.blueprint.name} cannot run submitted functions: {said}"
        )
        hint = "`untrusted` needs python3 (3.8 or later) on the PATH of the named host's image."
        raise AttemptFailed(failure(Phase.EVALUATE, "image_unusable", text, hint=hint))

    async def send(self, data: bytes) -> None:
        """Takes bytes for the process; waits only while it left very much unread. Quiet after its end."""
        while len(self._unsent) > UNSENT_BYTES and self._outcome is None:
            await self._changed.wait()
        self._unsent += data
        self._announce()

    async def close_stdin(self) -> None:
        """The process sees the end of its input after what was sent."""
        self._input_ends = True
        self._announce()

    async def receive(self, seconds: float | None) -> tuple[bytes, bytes, bool]:
        """(stdout, stderr, ended): what came since the last call; waits for at least a byte or the end.

        Raises NotStarted, once, in place of an end, and AttemptFailed (host_lost) when nothing came in time
        since somebody else paused its host, say.
        """
        there = await self._waited(seconds, lambda: any(self._unread.values()) or self._outcome is not None)
        self._raise_not_started()
        if not there:
            await refuse_lost_by_others(self.host, Trouble.TIME, gone=False)
        out, err = (bytes(self._unread[name]) for name in ("stdout", "stderr"))
        for data in self._unread.values():
            data.clear()
        self._announce()
        self._tell_of_host()
        return out, err, self._outcome is not None

    async def wait(self, seconds: float | None) -> ExecResult | None:
        """How it ended, with what was not received; None when `seconds` passed before.

        Raises NotStarted, and AttemptFailed (host_lost) when somebody else took the time.
        """
        ended = await self._ended_in(seconds)
        if ended is None:
            await refuse_lost_by_others(self.host, Trouble.TIME, gone=False)
        return ended

    async def _ended_in(self, seconds: float | None) -> ExecResult | None:
        self._set_rest_aside()
        await self._waited(seconds, lambda: self._outcome is not None)
        self._raise_not_started()
        if self._outcome is None:
            if self._rest is not None:
                # The evaluator may go on to receive: what was kept is given back to it.
                self._unread["stdout"] += self._rest.stdout.content()
                self._unread["stderr"] += self._rest.stderr.content()
                self._rest = None
            return None
        rest = self._set_rest_aside()
        self._tell_of_host()
        return self._outcome.model_copy(
            update={
                "stdout": rest.stdout.content(),
                "stderr": rest.stderr.content(),
                "stdout_truncated": rest.stdout.truncated,
                "stderr_truncated": rest.stderr.truncated,
            }
        )

    async def _waited(self, seconds: float | None, there: Callable[[], bool]) -> bool:
        """Waits until `there`, or `seconds`, and says whether it is. In the end the engine is asked, and what
        lies ready is read: this process or the engine may have been held up, and what came in time counts.
        """
        with anyio.move_on_after(seconds):
            while not there():
                await self._changed.wait()
        if there():
            return True
        code = await code_at_deadline(self.host, self._exec_id, late=False)
        with anyio.move_on_after(READY_SECONDS if code == STILL_RUNNING else DRAIN_SECONDS):
            while not there():
                await self._changed.wait()
        return there()

    def _tell_of_host(self) -> None:
        """The evaluator is told of the end that the host brought."""
        if self._outcome is not None and self._outcome.host_lost:
            self.host.told = True

    def _raise_not_started(self) -> None:
        if self._not_started is not None:
            error, self._not_started = self._not_started, None
            raise error

    def _set_rest_aside(self) -> Output:
        """From now on what is printed is kept, and the process never has to wait for the evaluator."""
        if self._rest is None:
            self._rest = Output(self.host, self._order.keep)
            for name, data in self._unread.items():
                self._capture(name, bytes(data))
                data.clear()
            self._announce()
        return self._rest

    async def close(self) -> None:
        """Ends it: by the end of its input when it takes that, else by force."""
        await self.close_stdin()
        self._not_started = None
        told = self.host.told
        if await self._ended_in(CLOSE_SECONDS) is None:
            await self._end_it()
            await self._ended_in(CLOSE_SECONDS)
        elif not told:
            self.host.told = False  # who closes it does not see how it ended

    async def _take(self, stream: str, data: bytes) -> None:
        self._printed = True
        self._unheard_harness = self._unheard_harness and stream != "stdout"
        if self._unheard_harness:
            self._said = (self._said + data)[-SAID_BYTES:]
        self.host.printed += len(data)
        while self._rest is None and sum(map(len, self._unread.values())) > UNREAD_BYTES:
            await self._changed.wait()
        if self._rest is not None:
            self._capture(stream, data)
        else:
            self._unread[stream] += data
            self._announce()

    def _capture(self, stream: str, data: bytes) -> None:
        if self._rest is not None:
            (self._rest.stdout if stream == "stdout" else self._rest.stderr).add(data)

    async def _send_all(self, stream: Stream) -> None:
        try:
            while True:
                while self._unsent:
                    piece = bytes(self._unsent)
                    self._unsent.clear()
                    self._announce()
                    await stream.send(piece)
                if self._input_ends:
                    await stream.close_stdin()
                    return
                await self._changed.wait()
        except EngineUnreachable:
            return  # the process closed its stdin or ended; its end is told by its output's

    def _end(self, outcome: ExecResult) -> None:
        self._outcome = outcome
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
