"""Takes the engine's multiplexed output apart, however it was cut on its way."""

from __future__ import annotations

from typing import Literal

from scorehost.engine.door import Chunk

CHUNK_BYTES = 64 * 1024
HEADER_BYTES = 8
_STREAMS: dict[int, Literal["stdout", "stderr"]] = {0: "stdout", 1: "stdout", 2: "stderr"}
SYSTEM_ERROR = 3  # the engine reports its own trouble on a stream of this number


class FramingError(ValueError):
    """The bytes are not the engine's framing."""


class Demultiplexer:
    """Fed with bytes, gives chunks of at most 64 KiB at once; keeps no more than an unfinished header."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        self._stream: Literal["stdout", "stderr"] = "stdout"

    @property
    def at_boundary(self) -> bool:
        """Whether everything fed so far were whole frames: an end here is a clean one."""
        return not self._header and not self._left

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks that `data` completes or continues, in order; FramingError for foreign bytes."""
        chunks: list[Chunk] = []
        view = memoryview(data)
        while view:
            if self._left:
                part = view[: min(self._left, CHUNK_BYTES)]
                chunks.append(Chunk(self._stream, bytes(part)))
                self._left -= len(part)
                view = view[len(part) :]
                continue
            need = HEADER_BYTES - len(self._header)
            self._header += view[:need]
            view = view[need:]
            if len(self._header) == HEADER_BYTES:
                self._open_frame()
        return chunks

    def _open_frame(self) -> None:
        number, padding = self._header[0], self._header[1:4]
        self._left = int.from_bytes(self._header[4:], "big")
        self._header.clear()
        if number not in _STREAMS or any(padding):
            said = (
                "the engine reports a failed stream" if number == SYSTEM_ERROR else "bytes that are no frame"
            )
            raise FramingError(said)
        self._stream = _STREAMS[number]
