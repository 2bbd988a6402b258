"""Runs evaluator.py inside the evaluator host and speaks for it on the channel (docs/architecture.md)."""

# ruff: noqa: E402, PLC0415 - the order of imports is a matter of safety here, and of start-up time
from __future__ import annotations

import sys

_HERE = __file__.rpartition("/")[0] or "."
# Before any other import: a file beside this one, or in the working directory, must not stand for a module of
# the standard library.
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", _HERE)]

import errno
import faulthandler
import hashlib
import hmac
import io
import json
import os
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Tuple

_ROOT = os.path.dirname(os.path.abspath(_HERE))
_TASK = os.path.join(_ROOT, "task")
_PR_SET_DUMPABLE = 4
# Longer than a controller waits for the end of this process before it takes the way here for cut.
_LINGER_SECONDS = 10.0


class Channel:
    """The authenticated frames between this process and the controller; safe to use from several threads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._pid = os.getpid()
        self._key = b""
        self._sent = self._received = self._last_id = 0
        self._writing = threading.Lock()
        self._waiting: Dict[int, Callable[[Dict[str, Any]], None]] = {}
        self._over = self._begun = self._cut = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # A forked child has a copy of everything; what it cannot use by accident it should not hold at all.
        self._key, self._over, self._waiting = b"", True, {}
        self._writing = threading.Lock()
        for descriptor in (self._source, self._sink):
            try:
                os.close(descriptor)
            except OSError:  # closed already by whoever made the child
                continue

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = os.read(self._source, min(size - len(parts), 1 << 20))
            if not piece:
                self._cut = True  # or the controller has gone: then nobody waits for a result
                if self._begun:
                    time.sleep(_LINGER_SECONDS)  # an exit now would look like one of the evaluator's own
                os._exit(3)
            parts += piece
        return bytes(parts)

    def start(self) -> Dict[str, Any]:
        """Reads the first frame, which brings the key, and the files behind it; gives it without the key."""
        frame: Dict[str, Any] = json.loads(self._read(int.from_bytes(self._read(4), "big")))
        self._key = bytes.fromhex(frame.pop("key"))
        if frame["fed"]:
            from scorehost_sdk.feed import fill, load, tick

            load(self._read, _ROOT)
            fill(_ROOT)
            frame["laid_out"] = tick()
            sys.dont_write_bytecode = False
        self._begun = True
        threading.Thread(target=self._listen, daemon=True, name="scorehost-channel").start()
        return frame

    def _mac(self, label: bytes, counter: int, body: bytes) -> bytes:
        digest = hmac.new(self._key, label + counter.to_bytes(8, "big"), hashlib.sha256)
        digest.update(body)
        return digest.hexdigest().encode("ascii")

    def _listen(self) -> None:
        while True:
            frame = self._read(int.from_bytes(self._read(4), "big"))
            mac, body = frame[:64], frame[64:]
            if not hmac.compare_digest(mac, self._mac(b"reply", self._received, body)):
                _die("scorehost: a reply that the controller did not send; somebody in this host forges them")
            self._received += 1
            reply = json.loads(body)
            deliver = self._waiting.pop(reply["id"], None)
            if deliver is not None:
                deliver(reply)

    def _write(self, message: Dict[str, Any]) -> None:
        body = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        mac = self._mac(b"", self._sent, body)
        data = memoryview((64 + len(body)).to_bytes(4, "big") + mac + body)
        while data:
            try:
                data = data[os.write(self._sink, data) :]
            except BlockingIOError:  # somebody who shares the pipe made it non-blocking
                os.set_blocking(self._sink, True)
            except BrokenPipeError:
                os._exit(3)
        self._sent += 1

    def tell(self, message: Dict[str, Any]) -> None:
        """Sends a frame that has no id and no reply."""
        with self._writing:
            self._write(message)

    def finish(self, message: Dict[str, Any]) -> None:
        """Sends the last frame; nothing can be sent after it."""
        with self._writing:
            self._over = True
            self._write(message)
        while self._cut:
            time.sleep(_LINGER_SECONDS)  # it did not arrive: the listener ends this process

    def _request(
        self,
        message: Dict[str, Any],
        stdin: Iterable[str],
        deliver: Optional[Callable[[Dict[str, Any]], None]],
    ) -> int:
        if self._over or os.getpid() != self._pid:
            text = "the evaluation is over, or this is a forked process: scoring works in evaluate() only"
            if deliver is not None:
                deliver({"ok": False, "error": {"type": "ScoringError", "message": text}})
            return 0
        with self._writing:
            self._last_id = number = self._last_id + 1
            if deliver is not None:
                self._waiting[number] = deliver
            for part in stdin:
                self._write({"kind": "stdin", "id": number, "data": part})
            self._write(dict(message, id=number))
        return number

    def post(self, message: Dict[str, Any]) -> None:
        """Sends a request that gets no reply; drops it when the evaluation is over."""
        self._request(message, (), None)

    def call(
        self, message: Dict[str, Any], stdin: Iterable[str] = (), timeout: Optional[float] = None
    ) -> Optional[Dict[str, Any]]:
        """The reply; None when `timeout` seconds passed. `stdin` are base64 parts that go ahead."""
        box: List[Dict[str, Any]] = []
        done = threading.Event()

        def deliver(reply: Dict[str, Any]) -> None:
            box.append(reply)
            done.set()

        number = self._request(message, stdin, deliver)
        if not done.wait(timeout):
            self._waiting.pop(number, None)
            return None
        return box[0]

    async def acall(self, message: Dict[str, Any], stdin: Iterable[str] = ()) -> Dict[str, Any]:
        """The same for an async evaluator."""
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Dict[str, Any]] = loop.create_future()

        def deliver(reply: Dict[str, Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(lambda: future.cancelled() or future.set_result(reply))  # type: ignore[func-returns-value]

        number = self._request(message, stdin, deliver)
        try:
            return await future
        finally:
            if self._waiting.pop(number, None) is not None:  # cancelled: what it runs must not go on unheard
                self.post({"kind": "cancel", "request": number})


def _harden() -> bool:
    """Shuts other processes of this user out of this one's memory and descriptors; whether that worked."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _take_channel() -> Channel:
    """Moves the channel away from descriptors 0 and 1, and points both streams of Python at the log."""
    source, sink = os.dup(0), os.dup(1)  # not inherited by programs that this process starts
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    # One buffer for both keeps their order.
    log = io.BufferedWriter(io.FileIO(2, "wb", closefd=False))
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            log, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True
        )
        setattr(sys, name, stream)
        setattr(sys, "__" + name + "__", stream)
    faulthandler.enable(2)
    return Channel(source, sink)


def _die(text: str) -> NoReturn:
    os.write(2, text.encode("utf-8") + b"\n")
    os._exit(4)


def _number_in(path: str, key: Optional[str] = None) -> Optional[int]:
    try:
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if key is None or words[0] == key:
                    return int(words[-1])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _usage() -> Dict[str, Any]:
    base = "/sys/fs/cgroup/"
    peak = _number_in(base + "memory.peak")
    if peak is None:
        peak = _number_in(base + "memory/memory.max_usage_in_bytes")
    micro = _number_in(base + "cpu.stat", "usage_usec")
    nano = _number_in(base + "cpuacct/cpuacct.usage") if micro is None else None
    seconds = micro / 1e6 if micro is not None else None if nano is None else nano / 1e9
    return {"peak_memory_bytes": peak, "cpu_seconds": seconds}


def _argument(channel: Channel, start: Dict[str, Any], waits: bool) -> Any:
    """What the task's function is given: `inputs`, or the context of the run phase."""
    inputs = start["inputs"]
    if start["phase"] == "run":
        from scorehost_sdk.context import context

        return context(channel, inputs, waits, _ROOT)
    from scorehost_sdk.scoring import AsyncScoring, Scoring

    flavour = AsyncScoring if waits else Scoring
    inputs["scoring"] = flavour(channel, tuple(start["environments"]), start["single"], start["gold"])
    if start["roles"]:
        from scorehost_sdk.agents import Agent, AsyncAgent

        inputs["agent"] = (AsyncAgent if waits else Agent)(channel, start["roles"])
    return inputs


def _evaluate(channel: Channel, start: Dict[str, Any]) -> Any:
    from importlib import import_module

    module, _, name = start["entrypoint"].partition(":")
    function = getattr(import_module(module), name)
    from scorehost_sdk.flavour import is_coroutine_function

    waits = is_coroutine_function(function)
    value = function(_argument(channel, start, waits))
    if not waits and not hasattr(value, "__await__"):
        return value
    import asyncio

    async def wait() -> Any:
        return await value

    # Not asyncio.run: its end waits for threads and tasks that the evaluator left behind.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(wait())


def _place(error: BaseException) -> str:
    """`evaluator.py:LINE` of the innermost frame of the task's own code, or ''."""
    place = ""
    if isinstance(error, SyntaxError) and str(error.filename).startswith(_TASK + "/"):
        return f"{str(error.filename)[len(_TASK) + 1 :]}:{error.lineno or 0}"
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_TASK + "/"):
            place = f"{file[len(_TASK) + 1 :]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _kind(error: BaseException) -> Tuple[str, str]:
    from scorehost_sdk.faults import SubmissionFault, UnknownEnvironment

    if getattr(error, "raised_by_submission", False) is True or isinstance(error, SubmissionFault):
        return "submission_fault", "the submitted code broke its call"
    if isinstance(error, UnknownEnvironment):
        return "unknown_environment", "the evaluator asked for a scoring environment that there is not"
    if isinstance(error, MemoryError):
        return "evaluator_oom", "the evaluator ran out of memory"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and not _is_closed(error.filename):
        return "scratch_full", "the evaluator ran out of scratch space"
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "evaluator_exit", "the evaluator ended instead of returning a result"
    return "evaluator_exception", "the evaluator raised an exception"


def _is_closed(path: Any) -> bool:
    """Whether nothing may be written at a path: then it was no lack of space that forbade it."""
    path = os.path.abspath(path) if isinstance(path, str) else ""
    return path.startswith(_ROOT + "/") and not path.startswith(_ROOT + "/output/")


def _agent_kind(error: BaseException) -> Optional[Tuple[str, str]]:
    from scorehost_sdk import faults

    ours = (faults.AdapterFault, faults.LimitReached, faults.ReplyError)
    if isinstance(error, ours) and error.kind in faults.AGENT_KINDS:
        return error.kind, f"the evaluator did not catch that a call of an agent failed ({error.kind})"
    return None


def _failure(error: BaseException, who: str) -> Dict[str, Any]:
    """The `error` of a `failed` frame, and the traceback in the log."""
    from scorehost_sdk.returned import Rejected, type_name

    if isinstance(error, Rejected):
        return {"kind": error.kind, "type": "", "place": "", "message": error.text[:2000]}
    try:
        import traceback

        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # how the runner came there says nothing to the author
        traceback.print_exception(type(error), error, trace)
    except BaseException as trouble:  # noqa: BLE001 - an exception may refuse to be printed, or be too large
        os.write(2, b"scorehost: the traceback could not be printed: %s\n" % type(trouble).__name__.encode())
    while len(getattr(error, "exceptions", ())) == 1:  # a group of one: a task group of an async evaluator
        error = error.exceptions[0]  # type: ignore[attr-defined]
    kind, text = _agent_kind(error) or _kind(error)
    name, place = type_name(type(error)), _place(error)[:1000]
    where = f" at {place}" if place else ""
    text = f"{text}: {name}{where}".replace("the evaluator", who, 1)
    return {"kind": kind, "type": name, "place": place, "message": text}


def _main() -> NoReturn:
    safe = _harden()
    channel = _take_channel()
    sys.path[:0] = [os.path.join(_ROOT, ".scorehost")]
    # Now: who waits for an attempt has them ready, and an evaluator may use up memory or descriptors.
    import scorehost_sdk.faults
    import scorehost_sdk.feed
    import scorehost_sdk.flavour
    import scorehost_sdk.scoring
    from scorehost_sdk.returned import checked
    from scorehost_sdk.trees import Tree, close_imports

    start = channel.start()
    trees = {folder: Tree(folder, start["fed"]) for folder in start["trees"]}
    digests = {folder: tree.digest() for folder, tree in trees.items()}
    if start["fed"]:
        close_imports(_ROOT, {path: facts for tree in trees.values() for path, facts in tree.seen.items()})
    version = "%d.%d.%d" % sys.version_info[:3]
    channel.tell({"kind": "hello", "python": version, "trees": digests, "dumpable": not safe})
    if start["fed"]:
        scorehost_sdk.feed.pass_tick(start["laid_out"])
    sys.path[1:1] = [_TASK]
    own = os.getpid()
    try:
        value = _evaluate(channel, start)
        value = {} if start["phase"] == "run" else checked(value, start["limits"])
        last = {"kind": "result", "value": value}
    except BaseException as error:  # noqa: BLE001 - whatever ended the evaluator is told, not raised
        if os.getpid() == own:
            who = "run.py" if start["phase"] == "run" else "the evaluator"
            last = {"kind": "failed", "error": _failure(error, who)}
    if os.getpid() != own:
        os._exit(1)  # a process that the evaluator forked came back here: it has no say in the result
    last["trees"] = {folder: tree.digest() for folder, tree in trees.items()}
    last["usage"] = _usage()
    streams: Dict[int, Any] = {id(item): item for item in (sys.stdout, sys.stderr, sys.__stderr__)}
    for stream in streams.values():
        try:
            stream.flush()
        except Exception:  # noqa: BLE001, S112 - replaced or closed by the evaluator: its own loss
            continue
    channel.finish(last)
    os._exit(0)  # threads that the evaluator left behind do not hold it


if __name__ == "__main__":
    _main()
