"""What goes over an adapter's pipes in one call: the request, execs of a tied session, the reply, the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from scorehost.adapters.capture import MaskedCapture
from scorehost.adapters.execs import ExecAsk, ExecCall, NotRun, read_ask, wire
from scorehost.adapters.faults import failed
from scorehost.adapters.process import Process
from scorehost.adapters.replies import REPLY_BYTES, parse_object, parse_reply
from scorehost.errors import CallFailed
from scorehost.model import json
from scorehost.model.call import ExecNote, Fault
from scorehost.model.exec_result import ExecResult
from scorehost.model.ids import utc_now
from scorehost.model.masking import Masker

STDERR_KEPT = 1024 * 1024
STDERR_BYTES = 64 * 1024 * 1024  # more than this is a fault: reading it costs a core
LINE_BYTES = 16 * 1024 * 1024  # one line of a conversation; an exec's stdin stands in it
STDOUT_BYTES = 256 * 1024 * 1024  # of a whole conversation
HOLD_SECONDS = 1.0  # how long stdout may stay open after the adapter's end
LOG_SECONDS = 0.2  # and how long the log: who holds it does no harm


class Talk:
    """One conversation with a process. After `run`: `reply` (the object) or `fault`, and what is kept."""

    def __init__(self, process: Process, request: bytes, masker: Masker, exec_call: ExecCall | None) -> None:
        self._process, self._request, self._masker, self._exec = process, request, masker, exec_call
        self._scope = anyio.CancelScope()
        self._stdout_ended, self._stderr_ended = anyio.Event(), anyio.Event()
        self._line = bytearray()
        self.stdout = MaskedCapture(masker, 2 * REPLY_BYTES)
        self.stderr = MaskedCapture(masker, STDERR_KEPT)
        self.execs: list[ExecNote] = []
        self.reply: dict[str, Any] | None = None
        self.fault: Fault | None = None
        self.broken: Exception | None = None  # what an exec raised
        self.exited = False  # by itself
        self.rewritten = False  # the kept reply was put together anew, since a secret hid in it

    async def run(self) -> None:
        """Until the process has ended, or something is wrong. A deadline around it just cancels it."""
        async with anyio.create_task_group() as tasks:
            with self._scope:
                for work in (self._send, self._read_stdout, self._read_stderr):
                    tasks.start_soon(self._guarded, work)
                await self._process.exited()
                self.exited = True
                with anyio.move_on_after(HOLD_SECONDS):
                    await self._stdout_ended.wait()
                with anyio.move_on_after(LOG_SECONDS):
                    await self._stderr_ended.wait()
            tasks.cancel_scope.cancel()

    @property
    def held(self) -> bool:
        """Whether the adapter has ended and something else still holds its stdout."""
        return self.exited and not self._stdout_ended.is_set()

    def close(self) -> None:
        """Takes what is left once the process is gone: an unfinished line is kept for the record."""
        self._keep(bytes(self._line))
        self._line.clear()

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except CallFailed as wrong:
            self._fail(wrong.fault)

    def _fail(self, fault: Fault) -> None:
        self.fault = self.fault or fault
        self._scope.cancel()

    async def _send(self) -> None:
        await self._process.write(self._request)
        if self._exec is None:
            self._process.close_stdin()

    async def _read_stderr(self) -> None:
        while data := await self._process.read(self._process.stderr):
            self.stderr.feed(data)
            if self.stderr.size > STDERR_BYTES:
                text = f"the adapter printed more than {STDERR_BYTES} bytes on stderr"
                raise failed("adapter_overflow", text)
        self._stderr_ended.set()

    async def _read_stdout(self) -> None:
        cap, total = REPLY_BYTES if self._exec is None else LINE_BYTES, 0
        while data := await self._process.read(self._process.stdout):
            self._line += data
            total += len(data)
            if self._exec is not None:
                await self._lines()
            if len(self._line) > cap or total > STDOUT_BYTES:
                limit = cap if len(self._line) > cap else STDOUT_BYTES
                raise failed("adapter_overflow", f"the adapter printed more than {limit} bytes on stdout")
        try:
            await self._last()
        except CallFailed as wrong:
            self.fault = self.fault or wrong.fault  # not at once: the exit status may tell more
        self._stdout_ended.set()

    async def _last(self) -> None:
        rest = bytes(self._line)
        if self._exec is None or rest.strip():
            await self._take(rest)
        if self.reply is None and self.fault is None:
            raise failed("adapter_malformed", "the adapter closed its stdout before it gave a reply")

    async def _lines(self) -> None:
        while (end := self._line.find(b"\n")) >= 0 and end < LINE_BYTES:
            line = bytes(self._line[: end + 1])
            if line.strip():
                await self._take(line)
            else:
                del self._line[: end + 1]

    async def _take(self, line: bytes) -> None:
        """One value: an exec in a conversation, else the reply; it leaves the buffer once it is kept."""
        if self.reply is not None:
            raise failed("adapter_malformed", "something follows the reply; logs belong on stderr")
        value = self._parsed(line)
        hidden = self._masker.tree(value)
        self._keep(line, hidden if hidden != value else None)
        del self._line[: len(line)]
        if "exec" not in value or self._exec is None:
            if set(value) == {"exec"}:
                text = "the adapter asked for an exec, but the session is tied to no host"
                raise failed("adapter_malformed", text)
            self.reply = hidden
            self._process.close_stdin()
            return
        if set(value) != {"exec"}:
            raise failed("adapter_malformed", "a line with `exec` may hold nothing else")
        if hidden != value:
            text = "an exec held a secret of the adapter; nothing was run, since no host may have one"
            raise failed("adapter_malformed", text)
        answer = await self._answer(read_ask(value["exec"]), self._exec)
        await self._process.write(json.canonical(wire(answer)) + b"\n")

    def _parsed(self, line: bytes) -> dict[str, Any]:
        if self._exec is None:
            return parse_reply(line)
        value = parse_object(line, "a line of stdout", max_bytes=LINE_BYTES)
        if "exec" not in value and len(line) > REPLY_BYTES:
            raise failed("adapter_overflow", f"the reply is larger than {REPLY_BYTES} bytes")
        return value

    def _keep(self, line: bytes, hidden: dict[str, Any] | None = None) -> None:
        """For the record; a secret in odd JSON escapes is taken out of the value instead."""
        kept = self._masker.data(line)
        if hidden is not None:
            try:
                whole = json.parse(kept, max_bytes=len(kept)) == hidden
            except json.BadJson:
                whole = False
            if not whole:
                line, self.rewritten = json.canonical(hidden) + b"\n", True
        self.stdout.feed(line)

    async def _answer(self, ask: ExecAsk, call: ExecCall) -> ExecResult | NotRun:
        began, at = anyio.current_time(), utc_now()
        answer: ExecResult | NotRun
        try:
            answer = await call(ask)
        except NotRun as error:
            answer = error
        except Exception as error:
            # Its fault is not the adapter's: it comes out of the call as it is, once the process is gone.
            self.broken = error
            raise failed("adapter_exit", "the host of the session failed") from error
        done = ExecResult(exit_code=None) if isinstance(answer, NotRun) else answer
        note = ExecNote(
            at=at,
            argv=ask.argv,
            stdin_bytes=len((ask.stdin or "").encode()),
            exit_code=done.exit_code,
            stdout_bytes=len(done.stdout),
            stderr_bytes=len(done.stderr),
            timed_out=done.timed_out,
            error=str(answer) if isinstance(answer, NotRun) else "",
            duration_seconds=round(anyio.current_time() - began, 3),
        )
        self.execs.append(note)
        return answer
