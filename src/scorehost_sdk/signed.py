"""The keeper's end of the way to the controller: frames that are authenticated in both directions."""

from __future__ import annotations

import hashlib
import hmac
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, NoReturn, Optional, Tuple

KEEPER, EVALUATOR = b"k", b"e"  # who speaks: the keeper itself, or the evaluator through it
REPLY, TIME = b"reply", b"time"  # what the controller says: an answer, or that the time is over
_LOG = b"log"
_LENGTH = 4  # of a frame's own size


class Signed:
    """Holds the key. Every way in which it fails ends this process, and nothing counts then."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self._sink = source, sink
        self._key = b""
        self._sent = self._received = 0
        self._heard = bytearray()

    def read(self, size: int) -> bytes:
        """So many bytes of what comes before the evaluation."""
        parts = bytearray()
        while len(parts) < size:
            piece = os.read(self.source, min(size - len(parts), 1 << 20))
            if not piece:
                os._exit(3)
            parts += piece
        return bytes(parts)

    def start(self) -> Dict[str, Any]:
        """The first frame, without the key that it brings."""
        frame: Dict[str, Any] = json.loads(self.read(int.from_bytes(self.read(4), "big")))
        self._key = bytes.fromhex(frame.pop("key"))
        return frame

    def hear(self) -> Optional[List[Tuple[bytes, bytes]]]:
        """What the next bytes complete, as (REPLY or TIME, body); None at the end of all input."""
        data = os.read(self.source, 1 << 20)
        if not data:
            return None
        self._heard += data
        frames: List[Tuple[bytes, bytes]] = []
        while len(self._heard) >= _LENGTH:
            size = int.from_bytes(self._heard[:4], "big")
            if len(self._heard) < 4 + size:
                break
            frames.append(self._proven(bytes(self._heard[4 : 4 + size])))
            del self._heard[: 4 + size]
        return frames

    def _proven(self, frame: bytes) -> Tuple[bytes, bytes]:
        mac, body = frame[:64], frame[64:]
        for label in (REPLY, TIME):
            if hmac.compare_digest(mac, self._mac(label, self._received, body)):
                self._received += 1
                return label, body
        return die(
            4, "scorehost: a reply that the controller did not send; somebody in this host forges them"
        )

    def say(self, who: bytes, body: bytes) -> None:
        """Sends one frame."""
        mac = self._mac(b"", self._sent, who, body)
        self._sent += 1
        write(self._sink, (65 + len(body)).to_bytes(4, "big") + mac + who)
        write(self._sink, body)

    def end_log(self) -> None:
        """Says on the log, which is a way of its own, that nothing more comes there."""
        write(2, b"\0scorehost " + self._mac(_LOG, 0) + b"\n")

    def _mac(self, label: bytes, counter: int, *pieces: bytes) -> bytes:
        digest = hmac.new(self._key, label + counter.to_bytes(8, "big"), hashlib.sha256)
        for piece in pieces:
            digest.update(piece)
        return digest.hexdigest().encode("ascii")


def write(descriptor: int, data: bytes) -> None:
    """Writes all of it; ends this process when nobody can read it any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody who shares the pipe made it non-blocking
            os.set_blocking(descriptor, True)
        except BrokenPipeError:
            os._exit(3)


def die(code: int, text: str) -> NoReturn:
    """Ends this process with a line in the log."""
    os.write(2, text.encode("utf-8", "backslashreplace") + b"\n")
    os._exit(code)
