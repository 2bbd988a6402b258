"""Output of a process: counted in full, kept up to a limit as first half and last half."""

from __future__ import annotations

from collections import deque

BLOCK = 16 * 1024  # bytes from which on a piece stands alone: many tiny ones cost more than what they hold


class Capture:
    """Takes bytes as they come and never holds more than `limit` and one piece of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._block = min(BLOCK, limit // 8)
        self._head = bytearray()
        self._tail: deque[bytearray] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, data: bytes) -> None:
        """Takes the next piece."""
        self.total += len(data)
        room = self._limit // 2 - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            if self._tail and len(self._tail[-1]) + len(data) <= self._block:
                self._tail[-1] += data
            else:
                self._tail.append(bytearray(data))
            self._tail_size += len(data)
            keep = self._limit - self._limit // 2
            while self._tail_size - len(self._tail[0]) >= keep:
                self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self.total > self._limit

    def content(self, note: str = "[scorehost: {} bytes left out here]") -> bytes:
        """What was kept, with a line that says how many bytes are missing where they are."""
        tail = b"".join(self._tail)
        if not self.truncated:
            return bytes(self._head) + tail
        kept = tail[-(self._limit - self._limit // 2) :]
        missing = self.total - len(self._head) - len(kept)
        return bytes(self._head) + f"\n{note.format(missing)}\n".encode() + kept
