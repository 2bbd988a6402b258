"""One budget of bytes over all that the outstanding requests of an attempt hold in this process."""

from __future__ import annotations

import anyio

from scorehost.errors import BudgetSpent
from scorehost.hosts.messages import Exec, Invoke, Judge, Publish, Request, Send, WriteFile

HELD_BYTES = 256 * 1024 * 1024  # of payloads that came and of replies that are made, over one attempt
SENT_BYTES = 64 * 1024 * 1024  # of it for input of open processes, which may wait for ever for them to read
PATIENCE_SECONDS = 5.0  # without any of that being read


def payload(request: Request) -> int:
    """The bytes of memory that a request's own data take; what else a frame holds is small."""
    match request:
        case Exec():
            return len(request.stdin or b"")
        case Send() | WriteFile() | Publish():
            return len(request.data)
        case Invoke():
            return request.prompt.__sizeof__()
        case Judge():
            return request.prompt.__sizeof__() + request.output.__sizeof__()
    return 0


class Held:
    """Counts bytes by request. Who wants more than there is waits until others have been answered.

    That always ends: an exec has a deadline and a call of an agent its limit; input for a process that does
    not read it is refused in the end; and at least one reply is always being made, whatever waits.
    """

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._by: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._replies: set[int] = set()
        self._changed = anyio.Event()

    @property
    def bytes(self) -> int:
        """What is held now."""
        return sum(self._by.values())

    async def admit(self, request: Request) -> None:
        """Counts what came with a request. Who reads requests waits here, and reads no further."""
        size = payload(request)
        if not size:
            return
        if isinstance(request, Send):
            await self._admit_sent(request.id, size)
            return
        while self.bytes + size > self._most:
            await self._changed.wait()
        self._by[request.id] = size

    async def _admit_sent(self, number: int, size: int) -> None:
        while sum(self._sent.values()) + size > SENT_BYTES:
            with anyio.move_on_after(PATIENCE_SECONDS) as patience:
                await self._changed.wait()
            if patience.cancelled_caught:
                return  # not counted: `check` refuses it
        self._sent[number] = self._by[number] = size

    def check(self, request: Send) -> None:
        """Raises BudgetSpent for input of a process that no room was found for."""
        if request.data and request.id not in self._sent:
            text = f"{sum(self._sent.values())} bytes wait for processes that do not read them"
            raise BudgetSpent(f"{text}: receive what they print, or close them")

    async def replying(self, number: int, size: int) -> None:
        """Counts a reply of at most `size` bytes before it is made; waits for its room."""
        while self._replies and self.bytes + size > self._most:
            await self._changed.wait()
        self._replies.add(number)
        self._by[number] = self._by.get(number, 0) + size

    def made(self, number: int, spare: int) -> None:
        """The reply is `spare` bytes smaller than was counted."""
        self._by[number] -= spare
        self._announce()

    def done(self, number: int) -> None:
        """The request was answered, and nothing of it is held any more."""
        self._by.pop(number, None)
        self._sent.pop(number, None)
        self._replies.discard(number)
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
