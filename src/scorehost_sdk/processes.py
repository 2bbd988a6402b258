"""Processes in scoring hosts that go on running, in both flavours."""

from __future__ import annotations

import base64

from scorehost_sdk import requests
from scorehost_sdk.faults import LimitReached, ScoringError
from scorehost_sdk.outcome import ExecResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, Optional, Self, Type

    from scorehost_sdk.requests import Content, Steps
    from scorehost_sdk.scoring import Link

MAX_LINE = 1024 * 1024
_STDERR_KEPT = 64 * 1024


class _Conversation:
    """What both flavours know of one process."""

    def __init__(self) -> None:
        self.number: Optional[int] = None
        self.ended = False
        self._stdout = bytearray()
        self._stderr = bytearray()

    @property
    def stderr(self) -> str:
        """What it has printed to stderr so far, as far as it was received; the first 64 KiB."""
        return self._stderr.decode("utf-8", "replace")

    def _id(self) -> int:
        if self.number is None:
            raise ScoringError("the process is not open: use `with scoring.open(...) as process`")
        return self.number

    def _keep(self, value: Dict[str, Any]) -> None:
        self._stdout += base64.b64decode(value["stdout"])
        error = base64.b64decode(value["stderr"])
        self._stderr += error[: max(0, _STDERR_KEPT - len(self._stderr))]
        self.ended = self.ended or bool(value["ended"])

    def receiving(self, timeout: Optional[float]) -> Steps[bytes]:
        """The next bytes of stdout, b"" at the end; TimeoutError."""
        clock = requests.Deadline(timeout)
        while not self._stdout and not self.ended:
            yield from self._more(clock)
            if not self._stdout and not self.ended:
                clock.check()
        data = bytes(self._stdout)
        self._stdout.clear()
        return data

    def reading_line(self, timeout: Optional[float]) -> Steps[str]:
        """The next line of stdout with its end, "" at the end; TimeoutError, LimitReached."""
        clock, seen = requests.Deadline(timeout), 0
        while True:
            end = self._stdout.find(b"\n", seen) + 1
            if not end and self.ended:
                end = len(self._stdout)
            elif not end:
                seen = len(self._stdout)
                if seen > MAX_LINE:
                    raise LimitReached(f"a line of more than {MAX_LINE} bytes. Use receive().")
                yield from self._more(clock)
                if len(self._stdout) == seen and not self.ended:
                    clock.check()
                continue
            line = bytes(self._stdout[:end])
            del self._stdout[:end]
            return line.decode("utf-8", "replace")

    def _more(self, clock: requests.Deadline) -> Steps[None]:
        value = yield {"kind": "receive", "process": self._id(), "timeout": clock.left()}, ()
        self._keep(value)

    def waiting(self, timeout: Optional[float]) -> Steps[ExecResult]:
        """Its end, with what was not received before; TimeoutError."""
        message = {"kind": "wait", "process": self._id(), "timeout": requests.seconds(timeout)}
        value = yield message, ()
        if value is None:
            raise TimeoutError("the process has not ended in time")
        self.ended = True
        result = ExecResult.from_wire(value)
        rest = bytes(self._stdout) + result.stdout_bytes
        self._stdout.clear()
        return result._replace(stdout_bytes=rest, stdout=rest.decode("utf-8", "replace"))

    def closing_stdin(self) -> Steps[None]:
        """The end of its input."""
        yield {"kind": "close_stdin", "process": self._id()}, ()

    def closing(self) -> Steps[None]:
        """Its end."""
        if self.number is not None:
            number, self.number, self.ended = self.number, None, True
            yield {"kind": "close", "process": number}, ()


class Process(_Conversation):
    """An open process of a plain evaluator; a context manager that ends it."""

    def __init__(self, link: Link, number: int) -> None:
        super().__init__()
        self._link = link
        self.number = number

    def send(self, content: Content, timeout: Optional[float] = None) -> None:
        """Writes to its stdin, text as UTF-8; TimeoutError when it does not read for `timeout` seconds."""
        requests.drive(self._link, requests.send(self._id(), content), timeout)

    def receive(self, timeout: Optional[float] = None) -> bytes:
        """The next bytes of its stdout; b"" after the end. TimeoutError after `timeout` seconds."""
        return requests.drive(self._link, self.receiving(timeout))

    def read_line(self, timeout: Optional[float] = None) -> str:
        """The next line of its stdout; "" after the end. TimeoutError; LimitReached past 1 MiB."""
        return requests.drive(self._link, self.reading_line(timeout))

    def close_stdin(self) -> None:
        """It sees the end of its input."""
        requests.drive(self._link, self.closing_stdin())

    def wait(self, timeout: Optional[float] = None) -> ExecResult:
        """Waits for its end; the result holds what was not received before. TimeoutError."""
        return requests.drive(self._link, self.waiting(timeout))

    def close(self) -> None:
        """Ends it if it runs."""
        requests.drive(self._link, self.closing())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class AsyncProcess(_Conversation):
    """An open process of an async evaluator; starts in `async with`, which also ends it."""

    def __init__(self, link: Link, opening: Steps[int]) -> None:
        super().__init__()
        self._link = link
        self._opening = opening

    async def send(self, content: Content) -> None:
        """Writes to its stdin; text as UTF-8."""
        await requests.adrive(self._link, requests.send(self._id(), content))

    async def receive(self, timeout: Optional[float] = None) -> bytes:  # noqa: ASYNC109 - the channel's own
        """The next bytes of its stdout; b"" after the end. TimeoutError after `timeout` seconds."""
        return await requests.adrive(self._link, self.receiving(timeout))

    async def read_line(self, timeout: Optional[float] = None) -> str:  # noqa: ASYNC109 - the channel's own
        """The next line of its stdout; "" after the end. TimeoutError; LimitReached past 1 MiB."""
        return await requests.adrive(self._link, self.reading_line(timeout))

    async def close_stdin(self) -> None:
        """It sees the end of its input."""
        await requests.adrive(self._link, self.closing_stdin())

    async def wait(self, timeout: Optional[float] = None) -> ExecResult:  # noqa: ASYNC109 - the channel's own
        """Waits for its end; the result holds what was not received before. TimeoutError."""
        return await requests.adrive(self._link, self.waiting(timeout))

    async def close(self) -> None:
        """Ends it if it runs."""
        await requests.adrive(self._link, self.closing())

    async def __aenter__(self) -> Self:
        self.number = await requests.adrive(self._link, self._opening)
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()
