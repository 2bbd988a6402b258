"""Scripted processes of the in-memory engine: what a program is given, and how it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import anyio

from scorehost.engine.door import Chunk
from scorehost.engine.memory_pipe import PIECE_BYTES, Pipe

if TYPE_CHECKING:
    from typing import Literal

    from scorehost.engine.memory_files import MemoryFiles

KILLED = 137


@dataclass(frozen=True, slots=True)
class Launch:
    """A process that is to start, for programs to be chosen by. `main` False: an exec."""

    image: str  # the image's reference
    argv: tuple[str, ...]
    user: int
    env: Mapping[str, str]
    workdir: str
    main: bool


class Ended(Exception):
    """Raised inside a program to end it with `exit_code`."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


class Context:
    """What a program has: its launch, stdin, stdout, stderr, and the files of its container."""

    def __init__(
        self, launch: Launch, files: MemoryFiles, process: Process, on_oom: Callable[[], None]
    ) -> None:
        self.launch = launch
        self.files = files
        self._process = process
        self._on_oom = on_oom
        self._unread = b""

    async def read(self) -> bytes:
        """Some bytes of stdin; b"" at its end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        return await self._process.stdin.get() or b""

    async def read_exactly(self, count: int) -> bytes:
        """`count` bytes of stdin; EOFError when it ends before."""
        while len(self._unread) < count:
            data = await self._process.stdin.get()
            if not data:
                raise EOFError
            self._unread += data
        data, self._unread = self._unread[:count], self._unread[count:]
        return data

    async def write(self, data: bytes) -> None:
        """Writes to stdout."""
        await self._process.tell("stdout", data)

    async def write_error(self, data: bytes) -> None:
        """Writes to stderr."""
        await self._process.tell("stderr", data)

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await anyio.sleep(seconds)

    def exit(self, code: int) -> NoReturn:
        """Ends this process."""
        raise Ended(code)

    def run_out_of_memory(self) -> NoReturn:
        """Ends this process the way the kernel does when the container's memory is used up."""
        self._on_oom()
        raise Ended(KILLED)


Program = Callable[[Context], Awaitable[int | None]]


class Process:
    """One scripted process: its pipes, and its end."""

    def __init__(self, *, stdin: bool) -> None:
        self.stdin: Pipe[bytes] = Pipe()
        if not stdin:
            self.stdin.end()
        self.outputs: list[Pipe[Chunk]] = []
        self.started = False
        self.ran = False  # there was such a program
        self.exit_code: int | None = None
        self.ended = anyio.Event()
        self._scope = anyio.CancelScope()

    async def tell(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """Gives output to everybody who is attached; without anybody it is lost, as without a log."""
        for start in range(0, len(data), PIECE_BYTES):
            chunk = Chunk(stream, data[start : start + PIECE_BYTES])
            for output in tuple(self.outputs):
                await output.put(chunk)

    async def run(self, program: Program, context: Context, on_end: Callable[[int], None]) -> None:
        """Plays the program to its end. A defect of the program comes out of the engine's context manager."""
        code = KILLED
        try:
            with self._scope:
                try:
                    code = await program(context) or 0
                except Ended as ended:
                    code = ended.exit_code
        finally:
            self._end(code)
            on_end(code)

    def kill(self) -> None:
        """Ends it as SIGKILL does."""
        self._scope.cancel()

    def _end(self, code: int) -> None:
        self.exit_code = code
        self.stdin.end()
        for output in self.outputs:
            output.end()
        self.ended.set()
