"""The controller's side of the channel: frames of the runner checked as if hostile code had written them."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from scorehost.errors import BudgetSpent, ScorehostError
from scorehost.hosts.messages import (
    FRAMES,
    MAX_ARGV_ENV,
    MAX_EXECS,
    MAX_FRAME,
    MAX_LOG_LINES,
    MAX_OPEN,
    MAX_PART,
    MAX_STDIN,
    Check,
    Close,
    CloseStdin,
    Ended,
    Exec,
    FailedError,
    FailedFrame,
    Hello,
    Limits,
    Log,
    Open,
    ReadFile,
    Receive,
    Request,
    Reset,
    ResultFrame,
    RunnerFrame,
    Send,
    Start,
    StdinPart,
    Usage,
    Wait,
    WriteFile,
)
from scorehost.model.json import BadJson, canonical, parse
from scorehost_sdk.verdict import MAX_ROW_BYTES, MAX_ROWS

__all__ = [
    "MAX_ARGV_ENV",
    "MAX_EXECS",
    "MAX_FRAME",
    "MAX_LOG_LINES",
    "MAX_OPEN",
    "MAX_PART",
    "MAX_STDIN",
    "Budget",
    "BudgetSpent",
    "ChannelViolation",
    "Check",
    "Close",
    "CloseStdin",
    "Ended",
    "Exec",
    "FailedError",
    "FailedFrame",
    "FrameReader",
    "FrameWriter",
    "Hello",
    "Limits",
    "Log",
    "Open",
    "ReadFile",
    "Receive",
    "Request",
    "Reset",
    "ResultFrame",
    "RunnerFrame",
    "Send",
    "Start",
    "Usage",
    "Wait",
    "WriteFile",
    "new_key",
]

Refusal = Literal[
    "UnknownEnvironment",
    "UnknownRole",
    "HostLost",
    "ScoringError",
    "SubmissionFault",
    "LimitReached",
    "AdapterFault",
]
_MAC_DIGITS = 64
_REPLY_LABEL, _TIME_LABEL, _LOG_LABEL = b"reply", b"time", b"log"
KEEPER, EVALUATOR = b"k", b"e"  # who speaks in a frame of the runner
# What a small frame can unfold to in memory is bounded by its containers: an empty list costs two bytes here
# and 64 there.
_MAX_CONTAINERS = 2_000_000
MAX_TOLD = MAX_ROWS + 1  # rows that count at once; the last says that the SDK held back what followed


class ChannelViolation(ScorehostError):
    """Something on the channel is not a frame that the runner may send now; nothing on it counts any more."""


class WrongMac(ChannelViolation):
    """A frame that was not made with this talk's key, or not in this place."""


def new_key() -> bytes:
    """128 random bits, for one attempt's channel."""
    return secrets.token_bytes(16)


def _mac(key: bytes, label: bytes, counter: int, body: bytes) -> bytes:
    digest = hmac.new(key, label + counter.to_bytes(8, "big"), "sha256")
    digest.update(body)
    return digest.hexdigest().encode("ascii")


def _framed(*pieces: bytes) -> bytes:
    size = sum(len(piece) for piece in pieces)
    if size > MAX_FRAME:
        raise ValueError(f"a frame of {size} bytes, more than {MAX_FRAME}")
    return b"".join((size.to_bytes(4, "big"), *pieces))


class FrameWriter:
    """Makes the controller's frames, in the order in which they must be sent."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._counter = 0

    def start(self, start: Start) -> bytes:
        """The first frame, which hands the key over. ValueError when it is larger than a frame may be."""
        document = {"kind": "start", "key": self._key.hex(), **start.model_dump(mode="json")}
        return _framed(json.dumps(document, allow_nan=False).encode("ascii"))

    def reply(self, request: int, value: Any) -> bytes:
        """The answer to request `request`; bytes in `value` (a mapping or None) become base64."""
        if isinstance(value, Mapping):
            value = {
                key: base64.b64encode(item).decode("ascii") if isinstance(item, bytes) else item
                for key, item in value.items()
            }
        return self._authentic({"kind": "reply", "id": request, "ok": True, "value": value})

    def refuse(
        self,
        request: int,
        error: Refusal,
        message: str,
        kind: str = "",
    ) -> bytes:
        """The answer that raises `error` in the evaluator; `kind` is that of a failed call of an agent."""
        told = {"type": error, "message": message, **({"kind": kind} if kind else {})}
        return self._authentic({"kind": "reply", "id": request, "ok": False, "error": told})

    def time_is_over(self) -> bytes:
        """Has the keeper end the evaluation, unless it has ended by then."""
        return self._authentic({"kind": "time"}, _TIME_LABEL)

    def _authentic(self, document: dict[str, Any], label: bytes = _REPLY_LABEL) -> bytes:
        body = json.dumps(document, allow_nan=False).encode("ascii")
        frame = _framed(_mac(self._key, label, self._counter, body), body)
        self._counter += 1  # only now: a frame that was too large was not sent
        return frame


class FrameReader:
    """Takes the runner's bytes as they come and gives whole frames; holds at most one frame and one stdin."""

    def __init__(self, key: bytes, max_frame: int = MAX_FRAME) -> None:
        self._key = key
        self._max = max_frame
        self._buffer = bytearray()
        self._counter = 0
        self._last_id = 0
        self._greeted = False
        self._parts: bytearray | None = None
        self._broken: str | None = None
        self.ended = False  # the keeper's last word has been read
        self._told = False  # a result or a failure has been read

    @property
    def greeted(self) -> bool:
        """Whether a hello has been read, also when what came with it breaks the rules."""
        return self._greeted

    @property
    def mid_frame(self) -> bool:
        """Whether bytes have come that are not yet a whole frame."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[RunnerFrame]:
        """The frames that `data` completes, in order.

        Raises `ChannelViolation` for anything that the runner may not send now, and again for ever after.
        """
        if self._broken is not None:
            raise ChannelViolation(self._broken)
        frames: list[RunnerFrame] = []
        self._buffer += data
        try:
            while (spoken := self._next_body()) is not None:
                who, body = spoken
                frame = self._accept(who, self._validated(body))
                if frame is not None:
                    frames.append(frame)
        except ChannelViolation as violation:
            self._broken = violation.message
            self._buffer.clear()
            self._parts = None
            raise
        return frames

    def end_of_log(self) -> bytes:
        """What the keeper writes to the log after its last word: nothing follows it there."""
        return b"\0scorehost " + _mac(self._key, _LOG_LABEL, 0, b"") + b"\n"

    def _next_body(self) -> tuple[bytes, bytes] | None:
        if self.ended and self._buffer:
            raise ChannelViolation("bytes after the keeper's last word")
        if len(self._buffer) < 4:  # noqa: PLR2004 - the length's own size
            return None
        size = int.from_bytes(self._buffer[:4], "big")
        if not _MAC_DIGITS + 1 < size <= self._max:
            raise ChannelViolation(f"a frame that says it has {size} bytes; at most {self._max} are allowed")
        if len(self._buffer) < 4 + size:
            return None
        mac = bytes(self._buffer[4 : 4 + _MAC_DIGITS])
        body = bytes(self._buffer[4 + _MAC_DIGITS : 4 + size])
        del self._buffer[: 4 + size]
        if not hmac.compare_digest(mac, _mac(self._key, b"", self._counter, body)):
            raise WrongMac("a frame that the runner did not make, or not in this place")
        self._counter += 1
        return body[:1], body[1:]

    def _validated(self, body: bytes) -> RunnerFrame | StdinPart:
        if body.count(b"[") + body.count(b"{") > _MAX_CONTAINERS:
            raise ChannelViolation(f"a frame with more than {_MAX_CONTAINERS} containers")
        try:
            return FRAMES.validate_python(parse(body, max_bytes=self._max), strict=True)
        except BadJson:
            raise ChannelViolation("a frame that is not strict JSON") from None
        except ValidationError as error:
            # The input may hold gold, and so may the name of an unknown key: only the kind of defect is told.
            kinds = sorted(
                {detail["type"] for detail in error.errors(include_input=False, include_url=False)}
            )
            raise ChannelViolation(f"a frame of no known form ({', '.join(kinds)[:200]})") from None

    def _accept(self, who: bytes, frame: RunnerFrame | StdinPart) -> RunnerFrame | None:
        if (who == KEEPER) != isinstance(frame, (Hello, Ended)) or who not in {KEEPER, EVALUATOR}:
            raise ChannelViolation("the evaluator said what only its keeper may say, or the other way round")
        if isinstance(frame, Hello) == self._greeted:
            raise ChannelViolation("a second hello" if self._greeted else "a frame before hello")
        self._greeted = True
        if isinstance(frame, Ended):
            self.ended = True
        if isinstance(frame, (Hello, Ended)):
            return frame
        if self._told:
            raise ChannelViolation("the evaluator spoke on after its result")
        return self._asked(frame)

    def _asked(self, frame: ResultFrame | FailedFrame | Request | StdinPart) -> RunnerFrame | None:
        if self._parts is not None and not (
            isinstance(frame, (StdinPart, Exec)) and frame.id == self._last_id
        ):
            raise ChannelViolation("parts of stdin without their exec")
        if isinstance(frame, (ResultFrame, FailedFrame)):
            self._told = True
            return frame
        if self._parts is None and frame.id <= self._last_id:
            raise ChannelViolation("a request with an id that has been used")
        self._last_id = frame.id
        if isinstance(frame, StdinPart):
            self._parts = (self._parts or bytearray()) + frame.data
            if len(self._parts) > MAX_STDIN:
                raise ChannelViolation(f"more than {MAX_STDIN} bytes of stdin")
            return None
        if isinstance(frame, Exec) and self._parts is not None:
            whole = bytes(self._parts) + (frame.stdin or b"")
            self._parts = None
            if len(whole) > MAX_STDIN:
                raise ChannelViolation(f"more than {MAX_STDIN} bytes of stdin")
            return frame.model_copy(update={"stdin": whole})
        return frame


class Budget:
    """Counts what one attempt has asked for."""

    def __init__(self) -> None:
        self.execs = 0
        self.open = 0
        self.log_lines = 0
        self.rows = self.row_bytes = 0

    def spend(self, request: Request) -> None:
        """Counts `request` before it is done.

        Raises `BudgetSpent` when the attempt may not have it, `ChannelViolation` past the lines and rows that
        the runner itself would have held back. Each `Open` that was counted is given back by `closed`.
        """
        if isinstance(request, Log):
            self.log_lines += 1
            if self.log_lines > MAX_LOG_LINES:
                raise ChannelViolation(f"more than {MAX_LOG_LINES} lines for the journal")
        if isinstance(request, Check):
            self.rows += 1
            self.row_bytes += len(canonical(request.row))
            if self.rows > MAX_TOLD or self.row_bytes > 2 * MAX_ROW_BYTES:
                raise ChannelViolation(f"more than {MAX_TOLD} rows of checks, or {2 * MAX_ROW_BYTES} bytes")
        if isinstance(request, (Exec, Open)):
            _bound_words(request)
        if isinstance(request, Open) and self.open >= MAX_OPEN:
            raise BudgetSpent(f"{MAX_OPEN} processes are open already. Close one first.")
        if isinstance(request, (Exec, Open, Reset)):
            if self.execs >= MAX_EXECS:
                raise BudgetSpent(f"{MAX_EXECS} execs, opens and resets are what an attempt may have.")
            self.execs += 1
        if isinstance(request, Open):
            self.open += 1

    def closed(self) -> None:
        """An open process has ended and been closed."""
        self.open -= 1


def _bound_words(request: Exec | Open) -> None:
    words = [*request.argv, *(request.env or {}).keys(), *(request.env or {}).values()]
    size = sum(len(word.encode("utf-8")) + 1 for word in words)
    if size > MAX_ARGV_ENV:
        raise BudgetSpent(
            f"argv and env of {size} bytes; {MAX_ARGV_ENV} are what one exec may have. Use stdin."
        )
