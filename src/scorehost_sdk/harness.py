"""Runs submitted code in a host without gold, and carries plain data to and from it.

Uploaded with wire.py and shortage.py as /attempt/.scorehost; it is run, never imported.
"""

# ruff: noqa: E402, PLC0415 - the order of imports is a matter of safety here, and of start-up time
from __future__ import annotations

import sys

_HERE = __file__.rpartition("/")[0] or "."
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", _HERE)]

import operator
import os
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Tuple

    from scorehost_sdk import shortage, wire
else:

    def _beside(name: str) -> object:
        """A file of this folder, under no name that submitted code could import or find."""
        module = type(sys)("scorehost_" + name)
        with open(_HERE + "/" + name + ".py", "rb") as file:
            exec(compile(file.read(), file.name, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
        return module

    shortage, wire = _beside("shortage"), _beside("wire")

STACK_BYTES = (256 << 20, 64 << 20, 16 << 20)
RECURSION_LIMIT = 50_000
_PRINTED_BYTES = 64 * 1024
_LINEAGE = 20  # base classes of an exception that are told
# What can be asked of an object that stays here, besides its attributes and calls of them.
_QUESTIONS: Dict[str, Callable[..., Any]] = {
    "len": len,
    "str": str,
    "bool": bool,
    "call": lambda found, *args, **kwargs: found(*args, **kwargs),
    "iter": lambda found: list(islice(found, wire.MOST_KEYS)),
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "contains": operator.contains,
    "setattr": setattr,
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _told(error: BaseException) -> Tuple[bytes, bytes]:
    """What is said of an exception of submitted code."""
    kind = type(error)
    name = wire.name_of(kind)
    lineage = type.__dict__["__mro__"].__get__(kind)
    if Exception not in lineage or kind in (StopIteration, StopAsyncIteration):
        return wire.FAULT, wire.encode("it raised %s, which may not cross" % name)
    try:
        text = error.args[0] if len(error.args) == 1 and type(error.args[0]) is str else str(error)
        text = text[: wire.MAX_TEXT] + shortage.words(error)
    except BaseException:  # noqa: BLE001 - the text is submitted code too
        text = ""
    if wire.raisable(name) is kind:
        return wire.RAISED, wire.encode([name, text])
    return wire.RAISED, wire.encode([name, text, [wire.name_of(each) for each in lineage[:_LINEAGE]]])


class _Service:
    """Loads one function or class, calls it as asked, and keeps what has to stay."""

    def __init__(self, source: int, sink: int, flush: Callable[[], None]) -> None:
        self._source, self._sink, self._flush = source, sink, flush
        self._function: Any = None
        self._nonfinite = False
        self._limits = wire.REPLY
        self._kept: Dict[int, Any] = {}

    def run(self) -> None:
        """Answers until the stream ends, and ends the process."""
        try:
            self._send(wire.NO_ID, wire.HELLO, b"")
            while True:
                message = self._read(int.from_bytes(self._read(4), "big"))
                identity, kind = message[: wire.ID_BYTES], message[wire.ID_BYTES : wire.ID_BYTES + 1]
                payload = message[wire.ID_BYTES + 1 :]
                asked = wire.decode(payload, wire.ARGUMENTS, nonfinite=True, objects=self._kept)
                answer = self._answer(kind, asked)
                self._flush()
                self._send(identity, *answer)
        finally:
            os._exit(1)

    def _answer(self, kind: bytes, asked: List[Any]) -> Tuple[bytes, bytes]:
        if kind == wire.LOAD:
            return self._load(*asked)
        try:
            if kind == wire.ASK:
                value = self._asked(*asked)
            else:
                value = self._function(*asked[0], **asked[1])
                value = self._keep(value) if kind == wire.MAKE else value
        except BaseException as error:  # noqa: BLE001 - whatever it raises is told
            return _told(error)
        try:
            return wire.VALUE, wire.encode(value, self._limits, self._nonfinite)
        except wire.WireError as error:
            is_class = isinstance(self._function, type)
            hint = "; with instances=True a test can call the methods of an object" if is_class else ""
            return wire.FAULT, wire.encode("it returned %s%s" % (error, hint))
        except BaseException as error:  # noqa: BLE001 - a value may be code too, and fight
            return wire.FAULT, wire.encode(
                "it returned what could not be read: %s" % wire.name_of(type(error))
            )

    def _keep(self, value: Any) -> int:
        number = len(self._kept) + 1
        self._kept[number] = value
        return number

    def _asked(self, found: Any, question: str, args: List[Any], kwargs: Dict[str, Any]) -> Any:
        """What an object says to a question, or the number under which that stays here."""
        if question == "kept":
            return self._keep(found(*args, **kwargs) if args or kwargs or callable(found) else found)
        if question != "getattr":
            return _QUESTIONS[question](found, *args, **kwargs)
        value = getattr(found, args[0])
        try:  # an attribute: the value if it may leave, else what stands for it
            wire.encode(value, self._limits, self._nonfinite)
        except wire.WireError:
            return (self._keep(value),)
        return [value]

    def _read(self, size: int) -> bytes:
        pieces = []
        while size:
            data = os.read(self._source, min(size, 1 << 20))
            if not data:
                os._exit(0)
            pieces.append(data)
            size -= len(data)
        return b"".join(pieces)

    def _send(self, identity: bytes, kind: bytes, payload: bytes) -> None:
        data = memoryview(wire.frame(identity, kind, payload))
        while data:
            data = data[os.write(self._sink, data) :]

    def _load(self, path: str, function: str, nonfinite: bool, reply_bytes: int) -> Tuple[bytes, bytes]:
        self._nonfinite, self._limits = nonfinite, wire.reply_limits(reply_bytes)
        path = os.path.abspath(path)
        name = os.path.basename(path).partition(".")[0]
        if not name.isidentifier() or name in sys.modules:
            name = "submission"
        module = type(sys)(name)
        module.__file__ = path
        sys.modules[name] = module
        sys.path.append(os.path.dirname(path))  # last: a file there must not stand for the standard library
        sys.argv[:] = [path]
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
            exec(code, module.__dict__)  # noqa: S102 - this is what the host is for
            found: Any = module
            for part in function.split("."):
                found = getattr(found, part)
        except BaseException as error:  # noqa: BLE001 - whatever it raises while loading is told
            text = "it could not be loaded: %s%s" % (wire.name_of(type(error)), shortage.words(error))
            return wire.FAULT, wire.encode(text)
        self._function = found
        return wire.VALUE, wire.encode(None)


def _quiet_streams() -> Callable[[], None]:
    """Lets Python code print 64 KiB to stderr and drops the rest; gives what flushes it."""
    import io

    class Capped(io.RawIOBase):
        left = _PRINTED_BYTES

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            size = len(data)
            if Capped.left > 0:
                kept = bytes(data[: Capped.left])
                Capped.left -= len(kept)
                while kept:
                    kept = kept[os.write(2, kept) :]
            return size

    buffer = io.BufferedWriter(Capped())
    stream = io.TextIOWrapper(buffer, "utf-8", "backslashreplace", line_buffering=True, write_through=True)
    sys.stdout = sys.stderr = stream
    return buffer.flush


def _main() -> NoReturn:
    import threading

    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    service = _Service(source, sink, _quiet_streams())
    sys.setrecursionlimit(RECURSION_LIMIT)
    for size in STACK_BYTES:  # recursion that is deep but right must not end in a segmentation fault
        try:
            threading.stack_size(size)
            thread = threading.Thread(target=service.run, name="submission")
            thread.start()
        except (ValueError, RuntimeError):
            continue
        threading.stack_size(0)
        thread.join()
    os._exit(1)


if __name__ == "__main__":
    _main()
