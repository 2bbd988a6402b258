"""A stream that is kept: masked as it comes, its middle left out past a cap, and hashed as it came."""

from __future__ import annotations

import hashlib

from scorehost.files.capture import Capture
from scorehost.model.masking import Masker

_NOTE = "[{} bytes are left out here]"


class MaskedCapture:
    """Takes pieces of a stream. `cap`: bytes that are kept of it, once masked."""

    def __init__(self, masker: Masker, cap: int) -> None:
        self._masked = masker.stream()
        self._kept = Capture(cap)
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
        self._kept.add(data)

    def end(self) -> bytes:
        """What is kept; call it once, after the last piece."""
        self._keep(self._masked.end())
        self._ended = True
        return self._kept.content(_NOTE)

    @property
    def sha256(self) -> str:
        """Hex digest of the stream as it came."""
        return self._hash.hexdigest()

    @property
    def masked(self) -> bool:
        """Whether a secret was taken out; known after `end`."""
        return self._ended and self._hash.digest() != self._kept_hash.digest()
