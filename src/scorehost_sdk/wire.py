"""How plain data travels between a trusted test and submitted code (docs/adr/0007).

A value is a sequence of nodes in pre-order, each a tag byte and four bytes of length. A parser with its own
stack cannot be driven into recursion, long numbers or allocations. Both sides run this file; where submitted
code runs it lies beside harness.py.
"""

# ruff: noqa: PLC0415 - start-up time
from __future__ import annotations

import builtins
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

    Objects = Optional[Mapping[int, Any]]

MAX_BYTES = 1024 * 1024
MAX_NODES = 100_000
MAX_LEVELS = 64
MAX_INT_BITS = 16_384
MAX_ENTRIES = 10_000
# -1 and -2 have one hash, so honest keys made of them collide in groups of 2**n.
MAX_SAME_HASH = 64
# Of a dict or set, however large a reply may be: keys that are chosen to meet cost their square.
MOST_KEYS = 10 * MAX_ENTRIES
MAX_TEXT = 4096
MOST_REPLY_BYTES = 64 * MAX_BYTES  # that a test may ask for: as much as it may hand over

_NODE = struct.Struct(">cI")
_FLOAT = struct.Struct(">d")
_COMPLEX = struct.Struct(">dd")
_INFINITIES = (float("inf"), float("-inf"))


class WireError(Exception):
    """The bytes are no plain value within the limits, or the value is not plain; the message says what."""


class Limits:
    """How much one value may be."""

    def __init__(self, size: int, nodes: int, entries: int, keys: int, int_bits: int) -> None:
        self.size, self.nodes, self.entries, self.keys, self.int_bits = size, nodes, entries, keys, int_bits


def reply_limits(size: int) -> Limits:
    """The limits of a reply that may have `size` bytes: all of them grow with it, none below the usual."""
    if size <= MAX_BYTES:
        return Limits(size, MAX_NODES, MAX_ENTRIES, MAX_ENTRIES, MAX_INT_BITS)
    nodes, keys, bits = (usual * size // MAX_BYTES for usual in (MAX_NODES, MAX_ENTRIES, MAX_INT_BITS))
    return Limits(size, nodes, nodes, min(keys, MOST_KEYS), bits)


REPLY = reply_limits(MAX_BYTES)
# What a trusted test hands over is bounded by the channel only.
ARGUMENTS = Limits(MOST_REPLY_BYTES, 1 << 30, 1 << 30, 1 << 30, MAX_INT_BITS * 64)


def _finite(value: float) -> bool:
    return value == value and value not in _INFINITIES  # noqa: PLR0124 - NaN is what differs from itself


def encode(
    value: Any,
    limits: Limits = REPLY,
    nonfinite: bool = False,
    number_of: Optional[Callable[[Any], Optional[int]]] = None,
) -> bytes:
    """The bytes of a plain value; WireError for anything else. Exact types only; aliases become copies.

    Arrays and scalars of numpy, and what has their `dtype` and `tolist`, cross as the lists and numbers that
    they hold. `number_of` gives the number of an object that stays where it is and crosses as that.
    """
    encoder = _Encoder(limits, nonfinite, number_of)
    encoder.put(value, 0)
    return b"".join(encoder.out)


class _Encoder:
    def __init__(
        self, limits: Limits, nonfinite: bool, number_of: Optional[Callable[[Any], Optional[int]]]
    ) -> None:
        self.limits, self.nonfinite, self.number_of = limits, nonfinite, number_of
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
            if value.bit_length() > self.limits.int_bits:
                raise WireError("an int of more than %d bits" % self.limits.int_bits)
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
            self.other(value, kind, level)
            return
        if level >= MAX_LEVELS:
            raise WireError("a value nested deeper than %d levels" % MAX_LEVELS)
        most = self.limits.keys if tag in b"dSZ" else self.limits.entries
        if len(value) > most:
            raise WireError("a container of more than %d entries" % most)
        self.node(tag, len(value))
        if tag == b"d":
            for key, item in dict.items(value):
                self.put(key, level + 1)
                self.put(item, level + 1)
        else:
            for item in value:
                self.put(item, level + 1)

    def other(self, value: Any, kind: type, level: int) -> None:
        """What is no plain data itself."""
        number = None if self.number_of is None else self.number_of(value)
        if number is not None:
            self.leaf(b"o", number.to_bytes(8, "big"))
            return
        held = value.tolist() if hasattr(kind, "dtype") and hasattr(kind, "tolist") else value
        if type(held) not in _PLAIN:  # a scalar that Python has no number for gives itself
            raise WireError("a value of type %s, which is not plain data" % name_of(kind))
        self.put(held, level)


_PLAIN = (bool, int, float, complex, str, bytes, list, tuple)
_CONSTANTS: Dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_CONTAINERS: Dict[type, bytes] = {list: b"l", tuple: b"t", dict: b"d", set: b"S", frozenset: b"Z"}


def name_of(kind: type) -> str:
    """The name of a type as it was made, whatever it says of itself."""
    name = type.__dict__["__name__"].__get__(kind)
    return name[:80] if isinstance(name, str) and name.isidentifier() else "?"


def _leaf(tag: bytes, data: bytes, nonfinite: bool, objects: Objects) -> Any:
    if tag in _CONSTANTS and not data:
        return _CONSTANTS[tag]
    if tag in b"sb":
        return data.decode("utf-8", "surrogatepass") if tag == b"s" else data
    if tag in b"fc":
        parts = (_FLOAT if tag == b"f" else _COMPLEX).unpack(data)
        if not nonfinite and not all(_finite(part) for part in parts):
            raise WireError("a float that is not finite")
        return parts[0] if tag == b"f" else complex(*parts)
    number = int.from_bytes(data, "big") if tag == b"o" else 0
    if objects and number in objects:
        return objects[number]
    raise WireError("malformed: an unknown tag, or a constant with content")


def decode(data: bytes, limits: Limits = REPLY, nonfinite: bool = False, objects: Objects = None) -> Any:
    """The plain value that `data` spells, of exact built-in types; WireError for every other input.

    `objects` are what numbers of objects stand for, where any may come. Each count is held against the limits
    and against the bytes that are left before anything of that size is made; keys are hashed and counted
    before a dict or set is made of them.
    """
    if len(data) > limits.size:
        raise WireError("more than %d bytes" % limits.size)
    try:
        return _decode(data, limits, nonfinite, objects)
    except (struct.error, UnicodeDecodeError, TypeError) as error:
        raise WireError("malformed: %s" % type(error).__name__) from None


# One loop, since a call for each node would double the time that a hostile reply costs.
def _decode(  # noqa: C901, PLR0912
    data: bytes, limits: Limits, nonfinite: bool, objects: Objects
) -> Any:
    position, nodes, size, unpack = 0, 1, len(data), _NODE.unpack_from
    int_bytes = limits.int_bits // 8 + 1  # the sign takes a bit
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
            most = limits.keys if tag in b"dSZ" else limits.entries
            if length > most or nodes > limits.nodes or entries * 5 > size - start:
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
                if not 0 < length <= int_bytes:
                    raise WireError("an int of %d bytes" % length)
                number = int.from_bytes(data[start:position], "big", signed=True)
                if length == int_bytes and number.bit_length() > limits.int_bits:
                    raise WireError("an int of more than %d bits" % limits.int_bits)
                items.append(number)
            else:
                items.append(_leaf(tag, data[start:position], nonfinite, objects))
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


# Messages.
ID_BYTES = 16
HELLO = b"H"  # the harness runs, and no submitted code does yet
LOAD = b"L"
CALL = b"C"
MAKE = b"M"  # a call whose result stays there; its number comes back
ASK = b"A"  # something of an object that stayed there
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
