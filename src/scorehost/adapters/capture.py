"""A stream that is kept: masked as it comes, first and last half of a cap, a line for what is missing."""

from __future__ import annotations

import hashlib

from scorehost.model.masking import Masker


class Capture:
    """Takes pieces of a stream. `cap`: bytes that are kept of it, once masked."""

    def __init__(self, masker: Masker, cap: int) -> None:
        self._masked = masker.stream()
        self._half = cap // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._missing = 0
        self._hash = hashlib.sha256()
        self._kept_hash = hashlib.sha256()
        self._ended = False
        self.size = 0

    def feed(self, data: bytes) -> None:
        """Takes a piece."""
        self.size += len(data)
        self._hash.update(data)
        self._keep(self._masked.feed(data))

    def _keep(self, data: bytes) -> None:
        self._kept_hash.update(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Cut seldom: the tail is moved each time.
        if len(self._tail) > 2 * self._half:
            self._cut()

    def _cut(self) -> None:
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self._missing += over

    def end(self) -> bytes:
        """What is kept; call it once, after the last piece."""
        self._keep(self._masked.end())
        self._cut()
        self._ended = True
        note = f"\n[{self._missing} bytes are left out here]\n".encode() if self._missing else b""
        return bytes(self._head) + note + bytes(self._tail)

    @property
    def sha256(self) -> str:
        """Hex digest of the stream as it came."""
        return self._hash.hexdigest()

    @property
    def masked(self) -> bool:
        """Whether a secret was taken out; known after `end`."""
        return self._ended and self._hash.digest() != self._kept_hash.digest()
