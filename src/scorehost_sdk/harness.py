"""Runs one submitted function in a host without gold, and carries plain data to and from it.

This file is uploaded alone as /attempt/.scorehost/harness.py; its first half, the codec, is also what the
evaluator's side reads replies with. A value is a sequence of nodes in pre-order, each a tag byte and four
bytes of length. A parser with its own stack cannot be driven into recursion, long numbers or allocations.
"""

# ruff: noqa: E402, PLC0415 - the order of imports is a matter of safety here, and of start-up time
from __future__ import annotations

import sys

_HERE = __file__.rpartition("/")[0] or "."
if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", _HERE)]

import builtins
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

MAX_BYTES = 1024 * 1024
MAX_NODES = 100_000
MAX_LEVELS = 64
MAX_INT_BITS = 16_384
MAX_INT_BYTES = MAX_INT_BITS // 8 + 1  # the sign takes a bit
MAX_ENTRIES = 10_000
# -1 and -2 have one hash, so honest keys made of them collide in groups of 2**n.
MAX_SAME_HASH = 64
MAX_TEXT = 4096
STACK_BYTES = (256 << 20, 64 << 20, 16 << 20)
RECURSION_LIMIT = 50_000
_PRINTED_BYTES = 64 * 1024

_NODE = struct.Struct(">cI")
_FLOAT = struct.Struct(">d")
_COMPLEX = struct.Struct(">dd")
_INFINITIES = (float("inf"), float("-inf"))


class WireError(Exception):
    """The bytes are no plain value within the limits, or the value is not plain; the message says what."""


class Limits:
    """How much one value may be."""

    def __init__(self, size: int, nodes: int, entries: int) -> None:
        self.size, self.nodes, self.entries = size, nodes, entries


REPLY = Limits(MAX_BYTES, MAX_NODES, MAX_ENTRIES)
# What a trusted test hands over is bounded by the channel only.
ARGUMENTS = Limits(64 * 1024 * 1024, 1 << 30, 1 << 30)


def _finite(value: float) -> bool:
    return value == value and value not in _INFINITIES  # noqa: PLR0124 - NaN is what differs from itself


def encode(value: Any, limits: Limits = REPLY, nonfinite: bool = False) -> bytes:
    """The bytes of a plain value; WireError for anything else. Exact types only; aliases become copies."""
    encoder = _Encoder(limits, nonfinite)
    encoder.put(value, 0)
    return b"".join(encoder.out)


class _Encoder:
    def __init__(self, limits: Limits, nonfinite: bool) -> None:
        self.limits, self.nonfinite = limits, nonfinite
        self.out: List[bytes] = []
        self.size = 0

    def node(self, tag: bytes, length: int, data: bytes = b"") -> None:
        self.size += len(data) + 5
        if self.size > self.limits.size or len(self.out) >= self.limits.nodes:
            raise WireError("more than %d bytes or %d nodes" % (self.limits.size, self.limits.nodes))
        self.out.append(_NODE.pack(tag, length) + data)

    def leaf(self, tag: bytes, data: bytes = b"") -> None:
        self.node(tag, len(data), data)

    def number(self, value: float) -> bytes:
        if not self.nonfinite and not _finite(value):
            raise WireError("a float that is not finite")
        return _FLOAT.pack(value)

    def put(self, value: Any, level: int) -> None:
        kind = type(value)
        if value is None or kind is bool:
            self.leaf(b"N" if value is None else b"T" if value else b"F")
        elif kind is int:
            if value.bit_length() > MAX_INT_BITS:
                raise WireError("an int of more than %d bits" % MAX_INT_BITS)
            self.leaf(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
        elif kind is float:
            self.leaf(b"f", self.number(value))
        elif kind is complex:
            self.leaf(b"c", self.number(value.real) + self.number(value.imag))
        elif kind is str:
            self.leaf(b"s", value.encode("utf-8", "surrogatepass"))
        elif kind is bytes:
            self.leaf(b"b", value)
        else:
            self.container(value, kind, level)

    def container(self, value: Any, kind: type, level: int) -> None:
        tag = _CONTAINERS.get(kind)
        if tag is None:
            from collections import Counter, OrderedDict, defaultdict

            if kind in (Counter, OrderedDict, defaultdict):
                tag = (
                    b"d"  # they equal the dict of the same items, which is all that a caller can ask of data
                )
        if tag is None:
            raise WireError("a value of type %s, which is not plain data" % _name(kind))
        if level >= MAX_LEVELS:
            raise WireError("a value nested deeper than %d levels" % MAX_LEVELS)
        if len(value) > self.limits.entries:
            raise WireError("a container of more than %d entries" % self.limits.entries)
        self.node(tag, len(value))
        if tag == b"d":
            for key, item in dict.items(value):
                self.put(key, level + 1)
                self.put(item, level + 1)
        else:
            for item in value:
                self.put(item, level + 1)


_CONSTANTS: Dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_CONTAINERS: Dict[type, bytes] = {list: b"l", tuple: b"t", dict: b"d", set: b"S", frozenset: b"Z"}


def _name(kind: type) -> str:
    name = type.__dict__["__name__"].__get__(kind)
    return name[:80] if isinstance(name, str) and name.isidentifier() else "?"


def _leaf(tag: bytes, data: bytes, nonfinite: bool) -> Any:
    if tag in _CONSTANTS and not data:
        return _CONSTANTS[tag]
    if tag in b"sb":
        return data.decode("utf-8", "surrogatepass") if tag == b"s" else data
    if tag in b"fc":
        parts = (_FLOAT if tag == b"f" else _COMPLEX).unpack(data)
        if not nonfinite and not all(_finite(part) for part in parts):
            raise WireError("a float that is not finite")
        return parts[0] if tag == b"f" else complex(*parts)
    raise WireError("malformed: an unknown tag, or a constant with content")


def decode(data: bytes, limits: Limits = REPLY, nonfinite: bool = False) -> Any:
    """The plain value that `data` spells, of exact built-in types; WireError for every other input.

    Each count is held against the limits and against the bytes that are left before anything of that size is
    made; keys are hashed and counted before a dict or set is made of them.
    """
    if len(data) > limits.size:
        raise WireError("more than %d bytes" % limits.size)
    try:
        return _decode(data, limits, nonfinite)
    except (struct.error, UnicodeDecodeError, TypeError) as error:
        raise WireError("malformed: %s" % type(error).__name__) from None


# One loop, since a call for each node would double the time that a hostile reply costs.
def _decode(data: bytes, limits: Limits, nonfinite: bool) -> Any:  # noqa: C901, PLR0912
    position, nodes, size, unpack = 0, 1, len(data), _NODE.unpack_from
    kind, wanted = b"l", 1  # of the container that is being filled; the outermost holds the value
    items: List[Any] = []
    stack: List[Tuple[bytes, int, List[Any]]] = []
    while True:
        tag, length = unpack(data, position)
        start = position + 5
        if tag in b"ltdSZ":
            position = start
            entries = length * 2 if tag == b"d" else length
            nodes += entries
            if length > limits.entries or nodes > limits.nodes or entries * 5 > size - start:
                raise WireError("a container of %d entries, or more than %d nodes" % (length, limits.nodes))
            if len(stack) >= MAX_LEVELS:
                raise WireError("nested deeper than %d levels" % MAX_LEVELS)
            stack.append((kind, wanted, items))
            kind, wanted, items = tag, entries, []
        else:
            position = start + length
            if position > size:
                raise WireError("malformed: cut off")
            if tag == b"i":
                if not 0 < length <= MAX_INT_BYTES:
                    raise WireError("an int of %d bytes" % length)
                number = int.from_bytes(data[start:position], "big", signed=True)
                if length == MAX_INT_BYTES and number.bit_length() > MAX_INT_BITS:
                    raise WireError("an int of more than %d bits" % MAX_INT_BITS)
                items.append(number)
            else:
                items.append(_leaf(tag, data[start:position], nonfinite))
        while len(items) == wanted:
            if not stack:
                if position != size:
                    raise WireError("malformed: bytes after the value")
                return items[0]
            value = _built(kind, items)
            kind, wanted, items = stack.pop()
            items.append(value)


def _built(tag: bytes, items: List[Any]) -> Any:
    if tag == b"l":
        return items
    if tag == b"t":
        return tuple(items)
    keys = items[::2] if tag == b"d" else items
    hashes = [hash(key) for key in keys]
    if len(set(hashes)) != len(hashes):
        _refuse_collisions(hashes)
    if tag == b"d":
        pairs = dict(zip(keys, items[1::2]))  # noqa: B905 - Python 3.8 has no strict
        if len(pairs) != len(keys):
            raise WireError("a dict with equal keys")
        return pairs
    members = set(items) if tag == b"S" else frozenset(items)
    if len(members) != len(items):
        raise WireError("a set with equal members")
    return members


def _refuse_collisions(hashes: List[int]) -> None:
    hashes.sort()
    for index in range(len(hashes) - MAX_SAME_HASH):
        if hashes[index] == hashes[index + MAX_SAME_HASH]:
            raise WireError("more than %d keys with one hash" % MAX_SAME_HASH)


# From here on: what runs beside submitted code.
ID_BYTES = 16
HELLO = b"H"  # the harness runs, and no submitted code does yet
LOAD = b"L"
CALL = b"C"
VALUE = b"V"
RAISED = b"E"
FAULT = b"X"
NO_ID = b"\0" * ID_BYTES


def frame(identity: bytes, kind: bytes, payload: bytes) -> bytes:
    """A message: length, id, kind, payload."""
    return (ID_BYTES + 1 + len(payload)).to_bytes(4, "big") + identity + kind + payload


def raisable(name: str) -> Optional[type]:
    """The built-in exception of that name if a call may raise it again, else None."""
    kind = vars(builtins).get(name)
    if not isinstance(kind, type) or not issubclass(kind, Exception) or kind.__name__ != name:
        return None
    return None if issubclass(kind, (StopIteration, StopAsyncIteration)) else kind


def _told(error: BaseException) -> Tuple[bytes, bytes]:
    """What is said of an exception of submitted code."""
    kind = type(error)
    name = _name(kind)
    if raisable(name) is not kind:
        return FAULT, encode("it raised %s, which is no built-in exception that may cross" % name)
    try:
        text = error.args[0] if len(error.args) == 1 and type(error.args[0]) is str else str(error)
    except BaseException:  # noqa: BLE001 - the text is submitted code too
        text = ""
    return RAISED, encode([name, text[:MAX_TEXT]])


class _Service:
    """Loads one function and calls it as asked."""

    def __init__(self, source: int, sink: int, flush: Callable[[], None]) -> None:
        self._source, self._sink, self._flush = source, sink, flush
        self._function: Any = None
        self._nonfinite = False

    def run(self) -> None:
        """Answers until the stream ends, and ends the process."""
        try:
            self._send(NO_ID, HELLO, b"")
            while True:
                message = self._read(int.from_bytes(self._read(4), "big"))
                identity, kind = message[:ID_BYTES], message[ID_BYTES : ID_BYTES + 1]
                asked = decode(message[ID_BYTES + 1 :], ARGUMENTS, nonfinite=True)
                answer = self._load(*asked) if kind == LOAD else self._call(*asked)
                self._flush()
                self._send(identity, *answer)
        finally:
            os._exit(1)

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
        data = memoryview(frame(identity, kind, payload))
        while data:
            data = data[os.write(self._sink, data) :]

    def _load(self, path: str, function: str, nonfinite: bool) -> Tuple[bytes, bytes]:
        self._nonfinite = nonfinite
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
            return FAULT, encode("it could not be loaded: %s" % _name(type(error)))
        self._function = found
        return VALUE, encode(None)

    def _call(self, args: List[Any], kwargs: Dict[str, Any]) -> Tuple[bytes, bytes]:
        try:
            value = self._function(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is told
            return _told(error)
        try:
            return VALUE, encode(value, REPLY, self._nonfinite)
        except WireError as error:
            return FAULT, encode("it returned %s" % error)
        except BaseException as error:  # noqa: BLE001 - a value may be code too, and fight
            return FAULT, encode("it returned what could not be read: %s" % _name(type(error)))


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
