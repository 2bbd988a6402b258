"""`untrusted`: a trusted test in the evaluator host calls submitted code that runs in a host without gold.

docs/untrusted.md says what a call may take and give.
"""

from __future__ import annotations

import os
import threading
import time

from scorehost_sdk import call_clock, requests, wire
from scorehost_sdk.call_clock import Allowance, CallClock
from scorehost_sdk.faults import (
    ArgumentError,
    HostLost,
    LimitReached,
    ScoringError,
    SubmissionError,
    SubmissionFault,
    UnknownEnvironment,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, List, NoReturn, Optional, Self, Sequence, Tuple, Type, Union

    from scorehost_sdk.processes import Process
    from scorehost_sdk.scoring import AsyncScoring, Scoring

_HARNESS = "/attempt/.scorehost/harness.py"
# Python starts in that time on a busy machine; submitted code gets it once a process, to load.
_START_SECONDS = 10.0
_END_SECONDS = 2.0
_NOT_RUN = (126, 127)
_NAME, _LINEAGE, _HINT = 80, 20, 100  # characters, names, characters
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
    wall_seconds: Optional[float] = None,
    fresh: bool = False,
    allow_nonfinite: bool = False,
    max_reply_bytes: int = wire.MAX_BYTES,
    exceptions: Sequence[Type[Exception]] = (),
    instances: bool = False,
) -> Untrusted:
    """A plain callable that runs `function` of the submitted file `path` in host `name` (one with `gold:
    false`).

    `path` is a path in the host, absolute or relative to /attempt. Arguments and result are plain data (None,
    bool, int, float, str, bytes, list, tuple, dict, set, frozenset, complex) and cross by value: what the
    function does to its arguments is not seen here. Arrays and scalars of numpy cross as lists and numbers.

    `seconds` of CPU time limit each call, `total_seconds` all of them and the loading: what the host used by
    the kernel's count, so a busy machine breaks no call. `wall_seconds` limits a call that waits (without it
    four times `seconds`, at least 20). With `fresh` every call gets a new host. NaN and infinities come back
    only with `allow_nonfinite`. `max_reply_bytes`, 1 to 64 MiB, raises all limits of a result.

    With `instances` the result stays there (`function` is a class, say), and what is given here stands for
    it: an `Instance`, with its attributes and methods.

    It is called plainly in an async evaluator too, where it holds up the event loop: use `asyncio.to_thread`
    to let other work go on. Calls take turns.

    Built-in exceptions are raised again (type and 4 KiB of text), except StopIteration and
    StopAsyncIteration. Another one is raised as that of `exceptions` whose name it or a base of it has, else
    as `SubmissionError`, which has its name. For every breach, time-out or death the callable raises
    `SubmissionFault`, keeps it as `fault`, and ends the process; without `fresh` all later calls raise it
    too. `ArgumentError` for an argument that is not plain data. ScoringError at once for a host that holds
    the gold set.
    """
    limits = {"seconds": seconds, "total_seconds": total_seconds, "wall_seconds": wall_seconds}
    for what, limit in limits.items():
        call_clock.checked(what, limit)
    if not wire.MAX_BYTES <= max_reply_bytes <= wire.MOST_REPLY_BYTES:
        raise ValueError(f"max_reply_bytes is a number from {wire.MAX_BYTES} to {wire.MOST_REPLY_BYTES}")
    if fresh and instances:
        raise ValueError("an instance lives in its host, which `fresh` replaces: leave one of the two out")
    if not isinstance(name, str) or scoring.single:
        raise UnknownEnvironment("untrusted code needs a named scoring environment with gold: false")
    if name in scoring.with_gold:
        raise ScoringError(
            f"The host {name} holds the gold set, which submitted code may not be near: "
            f"set `gold: false` in evaluation.environments.{name}."
        )
    blocking: Optional[Scoring] = getattr(scoring, "blocking", None)
    return Untrusted(
        scoring if blocking is None else blocking,  # type: ignore[arg-type] # an async one has a blocking one
        name,
        path,
        function,
        limits=limits,
        fresh=fresh,
        loading=[allow_nonfinite, max_reply_bytes],
        exceptions=exceptions,
        instances=instances,
    )


class Untrusted:
    """What `untrusted` gives.

    `fault` is the first SubmissionFault, or None: a test that catches too much cannot hide it. What the
    submitted code raises by itself is none.
    """

    def __init__(
        self,
        scoring: Scoring,
        name: str,
        path: str,
        function: str,
        *,
        limits: Dict[str, Any],
        fresh: bool,
        loading: List[Any],
        exceptions: Sequence[Type[Exception]],
        instances: bool,
    ) -> None:
        self.fault: Optional[SubmissionFault] = None
        self.__name__ = function
        self._scoring, self._name, self._path = scoring, name, path
        self._seconds: float = limits["seconds"]
        self._wall: float = limits["wall_seconds"] or call_clock.generous(self._seconds)
        self._allowance = Allowance(limits["total_seconds"], None, self._measure)
        self._fresh, self._loading, self._instances = fresh, loading, instances
        self._nonfinite, self._reply = bool(loading[0]), wire.reply_limits(loading[1])
        self._exceptions = {kind.__name__: kind for kind in exceptions}
        self._turn = threading.Lock()
        self.process: Optional[Process] = None
        self._greeted = False
        self._buffer = bytearray()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The claimed result of the function, of exact built-in types; or the instance that stands for it."""
        if not self._instances:
            return self.carried(wire.CALL, [list(args), kwargs])
        from scorehost_sdk.instances import Instance  # noqa: PLC0415 - few need it

        number = self.object_number(self.carried(wire.MAKE, [list(args), kwargs]))
        return Instance(self, number, self.process)

    def object_number(self, number: Any) -> int:
        """The number of an object, from an answer."""
        if type(number) is not int or not 0 < number < 1 << 63:
            raise self.broken("answered with something else than the number of an object")
        return number

    def broken(self, text: str) -> SubmissionFault:
        """A fault that was found in an answer after its call; it ends the process as any other does."""
        with self._turn:
            self._end()
            error = SubmissionFault(f"{self.__name__} {text}")
            self.fault = self.fault or error
        return error

    def _number_of(self, value: Any) -> Optional[int]:
        if type(value).__name__ not in ("Instance", "Member") or not self._instances:
            return None
        from scorehost_sdk.instances import number_of  # noqa: PLC0415

        return number_of(value, self, self.process)

    def carried(self, kind: bytes, message: List[Any]) -> Any:
        """What comes of one call there."""
        try:
            asked = wire.encode(message, wire.ARGUMENTS, nonfinite=True, number_of=self._number_of)
        except wire.WireError as problem:
            raise ArgumentError(f"an argument of an untrusted call is {problem}") from None
        with self._turn:
            if self.fault is not None and not self._fresh:
                raise SubmissionFault(str(self.fault))
            try:
                if self.process is None or self._fresh:
                    self._start()
                outcome = self._outcome(*self._ask(kind, asked, self._seconds, self._wall))
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
            self.process = self._scoring.open(self._name, ["python3", "-s", _HARNESS])
        except HostLost as error:  # what was submitted has ended it
            raise SubmissionFault(str(error)) from None
        self._allowance.begin()
        asked = wire.encode([self._path, self.__name__, *self._loading], wire.ARGUMENTS)
        more = _START_SECONDS
        self._outcome(*self._ask(wire.LOAD, asked, self._seconds + more, self._wall + more))

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            try:
                self._allowance.end()
                process.close()
            except ScoringError:  # its host has gone, and the process with it
                return

    def _measure(self) -> Optional[float]:
        try:
            return requests.drive(self._scoring.link, requests.cpu_seconds(self._name))
        except ScoringError:  # a host that is gone has used what it has used
            return None

    def _ask(self, kind: bytes, payload: bytes, cpu: float, wall: float) -> Tuple[bytes, bytes]:
        """Sends one message and gives kind and payload of its one answer."""
        identity = os.urandom(wire.ID_BYTES)
        cpu, wall = self._allowance.left(cpu), self._allowance.wall_left(wall)
        if min(cpu, wall) <= 0:
            raise SubmissionFault(f"{self.__name__} has used up total_seconds")
        clock = CallClock(cpu, wall, self._measure)
        try:
            if self._buffer:
                raise SubmissionFault("an answer before it was asked for")
            self._running().send(wire.frame(identity, kind, payload))
            clock.restart()
            return self._answer(identity, clock)
        except TimeoutError:
            raise SubmissionFault(f"{self.__name__} did not answer {clock.over}") from None
        except (UnknownEnvironment, LimitReached):
            raise
        except ScoringError:
            if not self._greeted:
                raise
            raise SubmissionFault(f"the host of {self.__name__} ended during its call") from None
        finally:
            self._allowance.spend(time.monotonic() - clock.began)

    def _running(self) -> Process:
        assert self.process is not None  # noqa: S101 - `_start` made it
        return self.process

    def _answer(self, identity: bytes, clock: CallClock) -> Tuple[bytes, bytes]:
        process = self._running()
        if not self._greeted:
            if self._message(process, clock)[: wire.ID_BYTES + 1] != wire.NO_ID + wire.HELLO:
                raise SubmissionFault("bytes that are no answer")
            self._greeted = True
        message = self._message(process, clock)
        if message[: wire.ID_BYTES] != identity:
            raise SubmissionFault("an answer to something that was not asked")
        if self._buffer:
            raise SubmissionFault("more than one answer")
        return message[wire.ID_BYTES : wire.ID_BYTES + 1], message[wire.ID_BYTES + 1 :]

    def _message(self, process: Process, clock: CallClock) -> bytes:
        self._fill(process, 4, clock)
        size = int.from_bytes(self._buffer[:4], "big")
        if not wire.ID_BYTES < size <= self._reply.size + wire.ID_BYTES + 1:
            raise SubmissionFault("bytes that are no answer, or an answer that is too large")
        self._fill(process, 4 + size, clock)
        message = bytes(self._buffer[4 : 4 + size])
        del self._buffer[: 4 + size]
        return message

    def _fill(self, process: Process, size: int, clock: CallClock) -> None:
        while len(self._buffer) < size:
            try:
                data = process.receive(clock.patience())
            except TimeoutError:
                if clock.over:
                    raise
                continue
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
            "out of memory: limits.memory_mb of that environment"
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
            value = wire.decode(payload, self._reply, self._nonfinite)
        except wire.WireError as problem:
            raise SubmissionFault(f"{self.__name__} answered with {problem}") from None
        if kind == wire.VALUE:
            return value
        if kind == wire.FAULT and type(value) is str:
            raise SubmissionFault(f"{self.__name__}: {value[:300]}")
        if kind == wire.RAISED and type(value) is list:
            raised = self._raised(value)
            if raised is not None:
                raised.raised_by_submission = True  # type: ignore[attr-defined] # whom the runner blames
                return _Raised(raised)
        raise SubmissionFault(f"{self.__name__} answered with something else than a value or an exception")

    def _raised(self, told: List[Any]) -> Optional[BaseException]:
        """The exception that `[name, text]` or `[name, text, names of it and its bases]` tells of."""
        if [type(item) for item in told[:2]] != [str, str]:
            return None
        name, text = told[0][:_NAME], told[1][: wire.MAX_TEXT + _HINT]
        if len(told) == 2:  # noqa: PLR2004 - see above
            kind = wire.raisable(name)
            return None if kind is None else _again(kind, text)
        lineage = told[2]
        if len(told) > 3 or type(lineage) is not list or not all(type(each) is str for each in lineage):  # noqa: PLR2004
            return None
        lineage = [each[:_NAME] for each in lineage[:_LINEAGE]]
        for each in lineage:
            if each in self._exceptions:
                try:
                    return self._exceptions[each](text)
                except Exception:  # noqa: BLE001 - one that is not made of a text
                    break
        return SubmissionError(name, text, tuple(lineage))


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
    return error
