"""`untrusted`: a trusted test in the evaluator host calls submitted code that runs in a host without gold."""

from __future__ import annotations

import math
import os
import threading
import time

from scorehost_sdk import harness
from scorehost_sdk.faults import HostLost, LimitReached, ScoringError, SubmissionFault, UnknownEnvironment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, NoReturn, Optional, Self, Tuple, Type, Union

    from scorehost_sdk.processes import Process
    from scorehost_sdk.scoring import AsyncScoring, Scoring

_HARNESS = "/attempt/.scorehost/harness.py"
# Python starts in that time on a busy machine; submitted code gets it once a process, to load.
_START_SECONDS = 10.0
_END_SECONDS = 2.0
# For an answer that lies ready when its time is over to be read: the controller may have been held up.
_READY_SECONDS = 2.0
_NOT_RUN = (126, 127)
_UNICODE_ERRORS = {
    UnicodeDecodeError: ("utf-8", b"", 0, 1),
    UnicodeEncodeError: ("utf-8", "", 0, 1),
    UnicodeTranslateError: ("", 0, 1),
}


def untrusted(
    scoring: Union[Scoring, AsyncScoring],
    name: str,
    path: str,
    function: str,
    *,
    seconds: float = 5,
    total_seconds: Optional[float] = None,
    fresh: bool = False,
    allow_nonfinite: bool = False,
) -> Untrusted:
    """A plain callable that runs `function` of the submitted file `path` in host `name` (one with `gold:
    false`).

    `path` is a path in the host, absolute or relative to /attempt. Arguments and result are plain data (None,
    bool, int, float, str, bytes, list, tuple, dict, set, frozenset, complex) and cross by value: what the
    function does to its arguments is not seen here. `seconds` limits each call, `total_seconds` all of them
    and the loading. With `fresh` every call gets a new host. NaN and infinities come back only with
    `allow_nonfinite`.

    It is called plainly in an async evaluator too, where it holds up the event loop: use `asyncio.to_thread`
    to let other work go on. Calls take turns.

    Built-in exceptions are raised again (type and 4 KiB of text), except StopIteration and
    StopAsyncIteration. For every breach, time-out or death the callable raises `SubmissionFault`, keeps it as
    `fault`, and ends the process; without `fresh` all later calls raise it too. TypeError for an argument
    that is not plain data. ScoringError at once for a host that holds the gold set.
    """
    for limit in (seconds, total_seconds):
        if limit is not None and not (math.isfinite(limit) and limit > 0):
            raise ValueError(f"seconds and total_seconds are numbers above 0, not {limit!r}")
    if not isinstance(name, str):
        raise UnknownEnvironment("untrusted code needs a named scoring environment with gold: false")
    if name in scoring.with_gold:
        raise ScoringError(
            f"The host {name} holds the gold set, which submitted code may not be near: "
            f"set `gold: false` in evaluation.environments.{name}."
        )
    blocking: Optional[Scoring] = getattr(scoring, "blocking", None)
    plain: Any = scoring if blocking is None else blocking
    limits = (seconds, total_seconds)
    return Untrusted(plain, name, path, function, limits=limits, fresh=fresh, allow_nonfinite=allow_nonfinite)


class Untrusted:
    """What `untrusted` gives.

    `fault` is the first SubmissionFault, or None: a test that catches too much cannot hide it.
    """

    def __init__(
        self,
        scoring: Scoring,
        name: str,
        path: str,
        function: str,
        *,
        limits: Tuple[float, Optional[float]],
        fresh: bool,
        allow_nonfinite: bool,
    ) -> None:
        self.fault: Optional[SubmissionFault] = None
        self.__name__ = function
        self._scoring, self._name, self._path = scoring, name, path
        self._seconds, self._total = limits
        self._fresh, self._nonfinite = fresh, allow_nonfinite
        self._spent = 0.0
        self._turn = threading.Lock()
        self._process: Optional[Process] = None
        self._greeted = False
        self._buffer = bytearray()
        self._late_since = 0.0  # when time was first seen to be over, in the call that runs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The claimed result of the function, of exact built-in types."""
        try:
            asked = harness.encode([list(args), kwargs], harness.ARGUMENTS, nonfinite=True)
        except harness.WireError as problem:
            raise TypeError(f"an argument of an untrusted call is {problem}") from None
        with self._turn:
            if self.fault is not None and not self._fresh:
                raise SubmissionFault(str(self.fault))
            try:
                if self._process is None or self._fresh:
                    self._start()
                kind, payload = self._ask(harness.CALL, asked, self._seconds)
                outcome = self._outcome(kind, payload)
            except BaseException as error:
                # Whatever is under way there, its answer must not be taken for that of a later call.
                self._end()
                if isinstance(error, SubmissionFault) and self.fault is None:
                    self.fault = error
                raise
            if self._fresh:
                self._end()
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome

    def close(self) -> None:
        """Ends the process of the submitted code."""
        with self._turn:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _start(self) -> None:
        if self._fresh:
            self._end()
            self._scoring.reset(self._name)
        self._greeted = False
        self._buffer.clear()
        try:
            self._process = self._scoring.open(self._name, ["python3", "-s", _HARNESS])
        except HostLost as error:  # what was submitted has ended it
            raise SubmissionFault(str(error)) from None
        asked = harness.encode([self._path, self.__name__, self._nonfinite], harness.ARGUMENTS)
        kind, payload = self._ask(harness.LOAD, asked, self._seconds + _START_SECONDS)
        self._outcome(kind, payload)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            try:
                process.close()
            except ScoringError:  # its host has gone, and the process with it
                return

    def _ask(self, kind: bytes, payload: bytes, limit: float) -> Tuple[bytes, bytes]:
        """Sends one message and gives kind and payload of its one answer."""
        if self._total is not None:
            limit = min(limit, self._total - self._spent)
        identity = os.urandom(harness.ID_BYTES)
        began = time.monotonic()
        try:
            if self._buffer:
                raise SubmissionFault("an answer before it was asked for")
            self._running().send(harness.frame(identity, kind, payload))
            self._late_since = 0.0
            # Only now: until the message was taken, the submission had no part in what went by.
            began = time.monotonic()
            return self._answer(identity, began + limit)
        except TimeoutError:
            raise SubmissionFault(f"{self.__name__} did not answer within {max(limit, 0):.3g} s") from None
        except (UnknownEnvironment, LimitReached):
            raise
        except ScoringError:
            if not self._greeted:
                raise
            raise SubmissionFault(f"the host of {self.__name__} ended during its call") from None
        finally:
            self._spent += time.monotonic() - began

    def _running(self) -> Process:
        assert self._process is not None  # noqa: S101 - `_start` made it
        return self._process

    def _answer(self, identity: bytes, deadline: float) -> Tuple[bytes, bytes]:
        process = self._running()
        if not self._greeted:
            if self._message(process, deadline)[: harness.ID_BYTES + 1] != harness.NO_ID + harness.HELLO:
                raise SubmissionFault("bytes that are no answer")
            self._greeted = True
        message = self._message(process, deadline)
        if message[: harness.ID_BYTES] != identity:
            raise SubmissionFault("an answer to something that was not asked")
        if self._buffer:
            raise SubmissionFault("more than one answer")
        return message[harness.ID_BYTES : harness.ID_BYTES + 1], message[harness.ID_BYTES + 1 :]

    def _message(self, process: Process, deadline: float) -> bytes:
        self._fill(process, 4, deadline)
        size = int.from_bytes(self._buffer[:4], "big")
        if not harness.ID_BYTES < size <= harness.MAX_BYTES + harness.ID_BYTES + 1:
            raise SubmissionFault("bytes that are no answer, or an answer that is too large")
        self._fill(process, 4 + size, deadline)
        message = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        return message

    def _fill(self, process: Process, size: int, deadline: float) -> None:
        while len(self._buffer) < size:
            left = deadline - time.monotonic()
            if left < 0:
                # Looked at before it is judged: this process may have been held up, however long.
                now = time.monotonic()
                self._late_since = self._late_since or now
                if now - self._late_since > _READY_SECONDS:
                    raise TimeoutError
            data = process.receive(max(0.0, left))  # past the deadline: what lies ready, and no more
            if not data:
                self._died(process)
            self._buffer += data

    def _died(self, process: Process) -> NoReturn:
        try:
            end = process.wait(_END_SECONDS)
        except TimeoutError:
            raise SubmissionFault(f"the process of {self.__name__} closed its output") from None
        if not self._greeted and end.exit_code in _NOT_RUN:
            raise ScoringError(
                f"host {self._name} has no python3 that runs; untrusted code needs 3.8 or later"
            )
        why = (
            "out of memory"
            if end.oom_killed
            else "its host printed more than it may"
            if end.reason == "output_limit"
            else "host lost"
            if end.host_lost
            else f"exit code {end.exit_code}"
        )
        raise SubmissionFault(f"the process of {self.__name__} ended during its call ({why})")

    def _outcome(self, kind: bytes, payload: bytes) -> Any:
        try:
            value = harness.decode(payload, harness.REPLY, self._nonfinite)
        except harness.WireError as problem:
            raise SubmissionFault(f"{self.__name__} answered with {problem}") from None
        if kind == harness.VALUE:
            return value
        if kind == harness.FAULT and type(value) is str:
            raise SubmissionFault(f"{self.__name__}: {value[:300]}")
        if kind == harness.RAISED and type(value) is list and [type(item) for item in value] == [str, str]:
            raised = harness.raisable(value[0])
            if raised is not None:
                return _Raised(_again(raised, value[1][: harness.MAX_TEXT]))
        raise SubmissionFault(f"{self.__name__} answered with something else than a value or an exception")


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _again(kind: type, text: str) -> BaseException:
    if kind in _UNICODE_ERRORS:
        error: BaseException = kind(*_UNICODE_ERRORS[kind], text)
    elif kind.__name__ == "ExceptionGroup":
        error = kind(text, [Exception("left in the submission's host")])
    else:
        error = kind(text)
    error.raised_by_submission = True  # type: ignore[attr-defined] # the runner blames it on whom it came from
    return error
