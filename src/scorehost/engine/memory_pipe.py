"""Pipes and streams of the in-memory engine: bounded, with an end on either side."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from scorehost.errors import EngineUnreachable

if TYPE_CHECKING:
    from scorehost.engine.door import Chunk

T = TypeVar("T")
CAPACITY = 64  # pieces that wait in a pipe before its writer does
PIECE_BYTES = 64 * 1024


class Pipe(Generic[T]):
    """Pieces in order, from one side to the other; a writer waits while it is full."""

    def __init__(self) -> None:
        self._pieces: deque[T] = deque()
        self._changed = anyio.Event()
        self._ended = False
        self._abandoned = False

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def put(self, piece: T) -> bool:
        """Appends a piece; False (and nothing done) when the reader has gone or the pipe has ended."""
        await anyio.lowlevel.checkpoint()
        while len(self._pieces) >= CAPACITY and not self._abandoned and not self._ended:
            await self._changed.wait()
        if self._abandoned or self._ended:
            return False
        self._pieces.append(piece)
        self._tell()
        return True

    def push(self, piece: T) -> None:
        """Appends a piece even to a full pipe."""
        if not self._abandoned and not self._ended:
            self._pieces.append(piece)
            self._tell()

    async def get(self) -> T | None:
        """The next piece; None after the end."""
        await anyio.lowlevel.checkpoint()
        while not self._pieces:
            if self._ended:
                return None
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._tell()
        return piece

    def end(self) -> None:
        """No more pieces come; what is there can still be read."""
        self._ended = True
        self._tell()

    def abandon(self) -> None:
        """Nobody reads any more: writers go on into nothing."""
        self._abandoned = True
        self._pieces.clear()
        self._tell()


class MemoryStream:
    """A `Stream` of the door over two pipes."""

    def __init__(self, stdin: Pipe[bytes], output: Pipe[Chunk]) -> None:
        self._stdin = stdin
        self._output = output

    async def send(self, data: bytes) -> None:
        """Writes all of `data` to stdin; EngineUnreachable when the process has gone."""
        for start in range(0, len(data), PIECE_BYTES):
            if not await self._stdin.put(data[start : start + PIECE_BYTES]):
                raise EngineUnreachable("The in-memory process has ended, so nothing reads its stdin.")

    async def close_stdin(self) -> None:
        """The process sees end of file; does nothing the second time."""
        self._stdin.end()

    async def receive(self) -> Chunk | None:
        """The next piece of output; None after the end."""
        return await self._output.get()
