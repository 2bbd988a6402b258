"""A log that says where it ends, while the stream that carries it goes on."""

from __future__ import annotations

from scorehost.files.capture import Capture


class MarkedLog:
    """Takes the pieces of a log and keeps all of it but its mark, in whatever pieces that comes.

    `mark` is told to nobody but its writer, who knows that nobody writes after it.
    """

    def __init__(self, log: Capture, mark: bytes) -> None:
        self._log, self._mark = log, mark
        self._held = b""  # the end of what came, as far as the mark could begin there
        self.ended = False

    def add(self, data: bytes) -> None:
        """Takes the next piece."""
        data, self._held = self._held + data, b""
        before, mark, after = data.partition(self._mark)
        if mark:
            self.ended = True
            data = before + after
        elif not self.ended:
            start = data.find(self._mark[:1], max(0, len(data) - len(self._mark) + 1))
            while start >= 0 and not self._mark.startswith(data[start:]):
                start = data.find(self._mark[:1], start + 1)
            if start >= 0:
                data, self._held = data[:start], data[start:]
        if data:
            self._log.add(data)

    def end(self) -> None:
        """Nothing more comes: what looked like a mark was none."""
        if self._held:
            self._log.add(self._held)
            self._held = b""
