"""Submitted functions that fight the harness: the test gets a fault or plain data, never their answer.

The right answer of every function here is 42 for the second call; the first call asks for nothing.
"""

from __future__ import annotations

import pytest

from scorehost_sdk import SubmissionFault, untrusted
from scorehost_sdk.scoring import Scoring
from scorehost_sdk.testing import LocalLink, lay_out

# Finds the harness's own service and its codec, whoever holds them.
REACH = """
import gc, os, struct, sys, threading, time
def service():
    for thing in gc.get_objects():
        if type(thing).__name__ == "_Service":
            return thing
def value(number):
    return b"i" + struct.pack(">I", 1) + bytes([number])
def message(identity, kind, payload):
    return struct.pack(">I", 17 + len(payload)) + identity + kind + payload
"""

# Answers of another kind than asked, at another time than asked, for another question than asked.
FORGED = {
    "an answer prepared by a thread for a later call": """
def f(n):
    def write():
        time.sleep(0.05)
        os.write(service()._sink, message(os.urandom(16), b"V", value(42)))
    if n == 1: threading.Thread(target=write).start(); return 0
    time.sleep(1); return 7
""",
    "a guessed id": """
def f(n):
    for guess in (b"\\0" * 16, b"\\xff" * 16, n.to_bytes(16, "big")):
        os.write(service()._sink, message(guess, b"V", value(42)))
    return 7
""",
    "a second greeting": """
def f(n):
    os.write(service()._sink, message(b"\\0" * 16, b"H", b""))
    return 7
""",
    "answers of every kind to one question": """
def f(n):
    frame = sys._getframe()
    while "identity" not in frame.f_locals: frame = frame.f_back
    asked = frame.f_locals["identity"]
    for kind in b"VEXHL": os.write(service()._sink, message(asked, bytes([kind]), value(42)))
    return 7
""",
    "a length that is not there": """
def f(n):
    os.write(service()._sink, struct.pack(">I", 40) + b"x" * 10)
    os._exit(0)
""",
    "a length of 4 GB": """
def f(n):
    os.write(service()._sink, b"\\xff" * 8)
    time.sleep(60)
""",
    "a write to every descriptor at the exit": """
import atexit
def f(n):
    atexit.register(lambda: [os.write(fd, message(b"\\0" * 16, b"V", value(42))) for fd in range(16)])
    for fd in range(3, 16):
        try: os.write(fd, message(b"\\0" * 16, b"V", value(42)))
        except OSError: pass
    sys.exit(0)
""",
    "a crash that is reported to the channel": """
import faulthandler, ctypes
def f(n):
    faulthandler.enable(service()._sink)
    ctypes.string_at(0)
""",
    "a signal that ends the call": """
import signal
def f(n):
    signal.raise_signal(signal.SIGKILL)
""",
    "a child that answers for its dead parent": """
def f(n):
    if os.fork():
        os._exit(0)
    time.sleep(0.1)
    os.write(service()._sink, message(b"\\0" * 16, b"V", value(42)))
    time.sleep(60)
""",
}

# What the function gives back is made to look like something else.
DISGUISED = {
    "an object whose class lies": """
class Lie:
    __class__ = int
    def __index__(self): return 42
    __int__ = __index__
    def __eq__(self, other): return True
    __hash__ = None
def f(n): return Lie()
""",
    "a reduction that runs code where it is read": """
class R:
    def __reduce__(self): return (eval, ("42",))
def f(n): return R()
""",
    "a dict that lies about its length": """
class D(dict):
    def __len__(self): return 1
    def __iter__(self): return iter(())
    def items(self): return [("x", 42)] * 10**9
def f(n): return D(a=1)
""",
    "a list that never ends": """
class L(list):
    def __iter__(self):
        while True: yield 42
    def __len__(self): return 1
def f(n): return L([1])
""",
    "an iterator that never ends": "import itertools\ndef f(n): return itertools.repeat(42)\n",
    "a text that lies about its bytes": """
class S(str):
    def encode(self, *rest): return b"42"
def f(n): return S("x")
""",
    "an int that lies about its bits": """
class I(int):
    def to_bytes(self, *rest, **more): return b"\\x2a"
    def bit_length(self): return 1
def f(n): return I(10**9)
""",
    "an exception whose text fights": """
class E(ValueError):
    def __str__(self): raise SystemExit(0)
    def __getattribute__(self, name): raise SystemExit(0)
def f(n): raise E()
""",
    "a metaclass that equals everything": """
class M(type):
    def __eq__(cls, other): return True
    def __hash__(cls): return hash(int)
    def __instancecheck__(cls, other): return True
class V(metaclass=M): pass
def f(n): return V()
""",
}


@pytest.fixture
def called(tmp_path):
    """`called(source)`: what the second call gives, after a first one that may prepare it."""
    lay_out(str(tmp_path), str(tmp_path / "no task"), {}, {}, [])
    link = LocalLink(str(tmp_path), {"box": {}})
    scoring = Scoring(link, ("box",), single=False)

    def call(source, seconds=2.0):
        (tmp_path / "artifacts" / "solution.py").write_text(REACH + source)
        function = untrusted(scoring, "box", "artifacts/solution.py", "f", seconds=seconds, total_seconds=4)
        with function:
            function(1)
            return function(2)

    yield call
    link.close()


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_answer_is_a_fault(called, kind):
    with pytest.raises(SubmissionFault):
        called(FORGED[kind])


@pytest.mark.parametrize("kind", DISGUISED)
def test_a_value_in_disguise_is_a_fault(called, kind):
    with pytest.raises(SubmissionFault):
        called(DISGUISED[kind])


# Here it is the harness that the code turns over. That can only harm its own answers: what arrives is still
# plain data that the trusted test compares by itself.
TURNED = {
    "builtins replaced": """
import builtins, types
fake = types.ModuleType("builtins")
sys.modules["builtins"] = fake
for name in ("len", "type", "isinstance", "set", "dict", "sorted"):
    setattr(builtins, name, lambda *rest, **more: 42)
def f(n): return 7
""",
    "the encoder replaced": """
def f(n):
    main = sys.modules["__main__"]
    main.wire.encode = lambda *rest, **more: b"?" * 10
    return 7
""",
    "the frame replaced": """
def f(n):
    main = sys.modules["__main__"]
    main.wire.frame = lambda identity, kind, payload: message(identity, b"C", payload)
    return 7
""",
    "its limits raised": """
def f(n):
    main = sys.modules["__main__"]
    main.wire.REPLY.size = main.wire.REPLY.nodes = main.wire.REPLY.entries = 1 << 40
    return [0] * 200_000
""",
    "its exact types widened": """
class I(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def f(n):
    main = sys.modules["__main__"]
    main.wire.encode = lambda *rest, **more: b"i" + struct.pack(">I", 1) + b"\\x07"
    return I(7)
""",
}


@pytest.mark.parametrize("kind", TURNED)
def test_a_harness_turned_over_gives_a_fault_or_a_plain_wrong_value(called, kind):
    try:
        got = called(TURNED[kind])
    except SubmissionFault:
        return
    assert type(got) is int
    assert got != 42


def test_a_function_that_patches_everything_and_is_right_is_right(called):
    """The cases above fail for what they do, not for being watched: plain data gets through."""
    assert called("sys.setrecursionlimit(2000)\ndef f(n): return 42 if n == 2 else 0\n") == 42
