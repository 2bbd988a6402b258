"""Requests to the controller, once for both flavours: generators that yield a request and get its value."""

from __future__ import annotations

import base64
import math
import os
import time

from scorehost_sdk.faults import (
    AdapterFault,
    HostLost,
    LimitReached,
    ScoringError,
    SubmissionFault,
    UnknownEnvironment,
    UnknownRole,
)
from scorehost_sdk.outcome import ExecResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import (
        Any,
        Dict,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Optional,
        Sequence,
        Tuple,
        TypeVar,
        Union,
    )

    from scorehost_sdk.scoring import Link

    T = TypeVar("T")
    Request = Tuple[Dict[str, Any], Iterable[str]]  # the frame, and parts of stdin ahead of it
    Steps = Generator[Request, Any, T]
    Argv = Sequence[Union[str, "os.PathLike[str]"]]
    Content = Union[str, bytes, bytearray, memoryview]
    Environment = Optional[Mapping[str, str]]

PART = 4 * 1024 * 1024
MAX_STDIN = 64 * 1024 * 1024
MAX_ARGV_ENV = 64 * 1024
_RAISES = {
    "UnknownEnvironment": UnknownEnvironment,
    "UnknownRole": UnknownRole,
    "HostLost": HostLost,
    "LimitReached": LimitReached,
    "ScoringError": ScoringError,
    "SubmissionFault": SubmissionFault,
}


class Names:
    """The scoring environments of the task; `single`: there is no map, None means beside the evaluator, and
    `any_name` lets every name mean that too.
    """

    def __init__(self, environments: Sequence[str], single: bool, any_name: bool = False) -> None:
        self._environments, self._single, self._any = tuple(environments), single, any_name

    def check(self, name: Optional[str]) -> Optional[str]:
        """`name` as it is asked for; UnknownEnvironment when nothing has it, before anything is started."""
        if self._single and (name is None or (self._any and isinstance(name, str))):
            return None
        if isinstance(name, str) and name in self._environments:
            return name
        known = ", ".join(self._environments)
        if name is None:
            raise UnknownEnvironment(f"This task has named scoring environments: say which of {known}.")
        if self._single:
            raise UnknownEnvironment("This task declares no evaluation.environments: only None can be named.")
        raise UnknownEnvironment(f"No scoring environment {str(name)[:80]!r}; the task declares {known}.")


def value_of(reply: Dict[str, Any]) -> Any:
    """The value of a reply frame; raises what the controller asks to be raised."""
    if reply["ok"]:
        return reply["value"]
    error = reply["error"]
    if error["type"] == "AdapterFault":
        raise AdapterFault(error["message"], error["kind"])
    raised: Exception = _RAISES.get(error["type"], ScoringError)(error["message"])
    if isinstance(raised, LimitReached):
        raised.kind = error.get("kind", "")
    raise raised


def as_bytes(content: Content) -> bytes:
    """Text as UTF-8, bytes as they are."""
    if isinstance(content, str):
        return content.encode("utf-8", "surrogateescape")
    return bytes(content)


class Deadline:
    """A moment that lies `timeout` seconds ahead, or never comes (None)."""

    def __init__(self, timeout: Optional[float]) -> None:
        limit = seconds(timeout)
        self._end = None if limit is None else time.monotonic() + limit

    def left(self) -> Optional[float]:
        """Seconds until then, 0 when it has passed, None for never."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """TimeoutError when it has passed."""
        if self._end is not None and time.monotonic() >= self._end:
            raise TimeoutError("the process printed nothing in time")


def drive(link: Link, steps: Steps[T], timeout: Optional[float] = None) -> T:
    """Carries out `steps`; gives what they return. TimeoutError when one takes `timeout` seconds."""
    try:
        message, stdin = next(steps)
        while True:
            reply = link.call(message, stdin, timeout)
            if reply is None:
                raise TimeoutError("no answer in time")
            message, stdin = steps.send(value_of(reply))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def adrive(link: Link, steps: Steps[T]) -> T:
    """The same for an async evaluator."""
    try:
        message, stdin = next(steps)
        while True:
            message, stdin = steps.send(value_of(await link.acall(message, stdin)))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _word(word: Any, what: str) -> str:
    text = os.fspath(word)
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{what} holds NUL, which no program can be given")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} is not UTF-8; the engine cannot carry it. Pass it by stdin.") from None
    return text


def seconds(timeout: Optional[float]) -> Optional[float]:
    """A timeout as the channel takes it; ValueError for what is no number of seconds."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not math.isfinite(timeout) or timeout < 0:
        raise ValueError(f"timeout must be a number of seconds, 0 or more, not {timeout!r}")
    return min(float(timeout), 1_000_000.0)


def _command(
    kind: str, name: Optional[str], argv: Argv, env: Environment, workdir: Optional[str]
) -> Dict[str, Any]:
    if isinstance(argv, (str, bytes)):
        raise TypeError("argv is a list of words, such as ['sort', '-u']; no shell reads it")
    words = [_word(word, f"argv[{index}]") for index, word in enumerate(argv)]
    if not words:
        raise ValueError("argv is empty: name a program")
    pairs = {_word(key, "a name in env"): _word(item, f"env[{key!r}]") for key, item in (env or {}).items()}
    size = sum(len(word.encode()) + 1 for word in [*words, *pairs, *pairs.values()])
    if size > MAX_ARGV_ENV:
        raise LimitReached(
            f"argv and env are {size} bytes; one exec may have {MAX_ARGV_ENV}. Use stdin or write_file."
        )
    place = None if workdir is None else _word(workdir, "workdir")
    return {"kind": kind, "name": name, "argv": words, "env": pairs or None, "workdir": place}


def _parts(data: bytes) -> Iterator[str]:
    for start in range(0, len(data), PART):
        yield base64.b64encode(data[start : start + PART]).decode("ascii")


def run(
    name: Optional[str],
    argv: Argv,
    *,
    stdin: Optional[Content],
    env: Environment,
    workdir: Optional[str],
    timeout: Optional[float],
) -> Steps[ExecResult]:
    """One exec."""
    message = dict(_command("exec", name, argv, env, workdir), timeout=seconds(timeout), stdin=None)
    ahead: Iterable[str] = ()
    if stdin is not None:
        data = as_bytes(stdin)
        if len(data) > MAX_STDIN:
            raise LimitReached(f"stdin is {len(data)} bytes; one exec may have {MAX_STDIN}. Use write_file.")
        last = max(0, (len(data) - 1) // PART * PART)
        message["stdin"] = base64.b64encode(data[last:]).decode("ascii")
        ahead = _parts(data[:last])
    value = yield message, ahead
    return ExecResult.from_wire(value)


def start(name: Optional[str], argv: Argv, env: Environment, workdir: Optional[str]) -> Steps[int]:
    """The number of a process that goes on running."""
    value = yield _command("open", name, argv, env, workdir), ()
    return int(value["process"])


def send(process: int, content: Content) -> Steps[None]:
    """Bytes to a process."""
    for part in _parts(as_bytes(content)):
        yield {"kind": "send", "process": process, "data": part}, ()


def reset(name: Optional[str]) -> Steps[None]:
    """A clean host under that name."""
    yield {"kind": "reset", "name": name}, ()


def cpu_seconds(name: Optional[str]) -> Steps[Optional[float]]:
    """CPU time that a running host has used by the kernel's count; None where that cannot be told."""
    value = yield {"kind": "cpu", "name": name}, ()
    used: Optional[float] = value["seconds"]
    return used


def write_file(name: Optional[str], path: str, content: Content) -> Steps[None]:
    """A file in a writable place of a host."""
    data, place = as_bytes(content), _word(path, "path")
    transfer: Optional[int] = None
    for start_at in range(0, len(data) or 1, PART):
        message: Dict[str, Any] = {"kind": "write_file", "name": name, "path": place}
        message["more"] = start_at + PART < len(data)
        message["data"] = base64.b64encode(data[start_at : start_at + PART]).decode("ascii")
        message.update(transfer=transfer, offset=start_at)
        value = yield message, ()
        transfer = value["transfer"] if value else None


def read_file(name: Optional[str], path: str, max_bytes: int) -> Steps[bytes]:
    """The bytes of a file of a host; LimitReached past `max_bytes`."""
    place, content = _word(path, "path"), bytearray()
    message: Dict[str, Any] = {"kind": "read_file", "name": name, "path": place, "transfer": None}
    while True:
        value = yield dict(message, offset=len(content)), ()
        message["transfer"] = value.get("transfer")
        data = base64.b64decode(value["data"])
        content += data
        if len(content) > max_bytes:
            raise LimitReached(
                f"the file is larger than {max_bytes} bytes. Raise max_bytes, or take less of it."
            )
        if value["ended"] or not data:
            return bytes(content)
