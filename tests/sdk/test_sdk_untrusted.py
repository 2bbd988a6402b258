"""Untrusted calls against a local process that stands for the host: a fault or plain data, never else."""

import asyncio
import base64
import math
import threading
import time

import pytest

from scorehost_sdk import (
    ArgumentError,
    ScoringError,
    SubmissionFault,
    UnknownEnvironment,
    call_clock,
    untrusted,
)
from scorehost_sdk.scoring import AsyncScoring, Scoring

ESCAPES = {
    "an object that equals everything": "class E:\n  __eq__ = lambda s, o: True\ndef f(): return E()",
    "a subclass of int": "class I(int): pass\ndef f(): return I(3)",
    "a generator": "def f(): yield 1",
    "a coroutine": "async def f(): return 1",
    "NaN": "def f(): return float('nan')",
    "20,000 colliding keys": "def f(): return {n * (2**61 - 1): n for n in range(20_000)}",
    "10,000 colliding keys": "def f(): return {n * (2**61 - 1): n for n in range(10_000)}",
    "an int of 5,000 digits": "def f(): return 10**5000",
    "10,000 nested lists": "def f():\n  v = []\n  for _ in range(10_000): v = [v]\n  return v",
    "50 MB": "def f(): return 'x' * 50_000_000",
    "StopIteration": "def f(): raise StopIteration(3)",
    "StopAsyncIteration": "def f(): raise StopAsyncIteration",
    "SystemExit": "def f(): raise SystemExit(0)",
    "KeyboardInterrupt": "def f(): raise KeyboardInterrupt",
    "an exit": "import os\ndef f(): os._exit(0)",
    "an exit while loading": "import os\nos._exit(0)",
    "a crash": "import ctypes\ndef f(): ctypes.string_at(0)",
    "a syntax error": "def f(:",
    "an import that fails": "import nosuch\ndef f(): return 1",
    "no such function": "def g(): return 1",
    "a name that cannot be called": "f = 3",
    "closed descriptors": "import os\ndef f(): os.closerange(0, 64); return 1",
    "closed descriptors and a wait": "import os, time\ndef f(): os.closerange(0, 64); time.sleep(60)",
}  # fmt: skip
CALLED = {"a name that cannot be called": TypeError}


@pytest.mark.parametrize("kind", ESCAPES)
def test_an_escape_is_a_fault_and_stays_one(host, kind):
    call = host(ESCAPES[kind])
    with pytest.raises(CALLED.get(kind, SubmissionFault)) as caught:
        call()
    if kind not in CALLED:
        assert call.fault is caught.value
        with pytest.raises(SubmissionFault, match=r"."):
            call()
        assert type(caught.value) is SubmissionFault


WRITER = """
import os
def frame(identity=bytes(16), kind=b"V", payload=b"T\\0\\0\\0\\0"):
    return (17 + len(payload)).to_bytes(4, "big") + identity + kind + payload
def everywhere(data):
    for n in range(3, 32):
        try: os.write(n, data)
        except OSError: pass
"""

FORGERIES = {
    "text on every descriptor": "def f(): everywhere(b'True'); return True",
    "a frame before it is asked": "everywhere(frame())\ndef f(): return True",
    "a frame with another id": "def f(): everywhere(frame()); return True",
    "a length of 4 GB": "def f(): everywhere(b'\\xff' * 8); return True",
    "an endless stream": "def f():\n  while True: everywhere(bytes(4096))",
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_bytes_that_are_no_expected_answer_are_a_fault(host, kind):
    with pytest.raises(SubmissionFault):
        host(WRITER + FORGERIES[kind], seconds=3)()


TWICE = """
import os, sys, threading
def f(x):
    frames = [sys._current_frames()[t.ident] for t in threading.enumerate() if t.name == "submission"]
    walk = frames[0]
    while "identity" not in walk.f_locals:
        walk = walk.f_back
    service, identity = walk.f_locals["self"], walk.f_locals["identity"]
    service._send(identity, b"V", b"T\\0\\0\\0\\0")
    return False
"""


def test_an_answer_given_twice_is_a_fault_and_never_taken_for_a_later_one(host):
    call = host(TWICE)
    with pytest.raises(SubmissionFault):
        # Both may come at once (a fault now) or one after the other (then the next call finds the second).
        assert [call(1), call(2)] == "never"


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        ("ValueError('no')", ValueError, "no"),
        ("KeyError('k')", KeyError, "'k'"),
        ("KeyError(5)", KeyError, "'5'"),
        ("OSError(28, 'full')", OSError, "[Errno 28] full"),
        ("MemoryError()", MemoryError, ""),
        ("AssertionError", AssertionError, ""),
        ("UserWarning('w')", UserWarning, "w"),
        ("UnicodeDecodeError('utf-8', b'x', 0, 1, 'bad')", UnicodeDecodeError, "bad"),
        ("ExceptionGroup('many', [ValueError()])", ExceptionGroup, "many"),
        ("RuntimeError('x' * 10**9)", RuntimeError, "x" * 4096),
    ],
)
def test_a_built_in_exception_is_raised_again_and_the_function_can_be_called_again(host, raised, kind, text):
    call = host(f"def f(ok):\n  if ok: return 1\n  raise {raised}", seconds=20)
    with pytest.raises(kind) as caught:
        call(False)  # noqa: FBT003 - the submission's own
    assert type(caught.value) is kind
    assert text in str(caught.value)
    assert len(str(caught.value)) < 4200
    assert caught.value.raised_by_submission
    assert caught.value.args[0:1] != (28,)
    assert call(True) == 1  # noqa: FBT003


def test_an_exceptions_text_that_fights_is_left_out(host):
    source = """
class Text(str):
    def __repr__(self): raise SystemExit
def f(): raise ValueError(Text("a"), Text("b"))
"""
    with pytest.raises(ValueError, match=r"^$"):
        host(source)()


def test_a_stop_iteration_does_not_end_the_tests_loop(host):
    call, seen = host("def f(n):\n  if n: raise StopIteration\n  return n"), []

    def numbers():
        for n in (0, 1, 2):
            seen.append(n)
            yield call(n)

    with pytest.raises(SubmissionFault):
        list(numbers())
    assert seen == [0, 1]


def test_arguments_cross_by_value_and_results_are_exact(host):
    call = host("def f(a, *, b):\n  a.append(1)\n  return (a, b, -0.0, {'x': {1, 2}})")
    given = [0]
    assert repr(call(given, b=b"\xff")) == "([0, 1], b'\\xff', -0.0, {'x': {1, 2}})"
    assert given == [0]


def test_state_of_the_module_lasts_without_fresh_and_does_not_with_it(host):
    source = "n = 0\ndef f():\n  global n\n  n += 1\n  return n"
    lasting, fresh = host(source), host(source, fresh=True)
    assert [lasting(), lasting()] == [1, 2]
    assert [fresh(), fresh()] == [1, 1]


def test_fresh_goes_on_after_a_fault_and_remembers_it(host):
    call = host("import os\ndef f(n):\n  if n: os._exit(1)\n  return n", fresh=True)
    with pytest.raises(SubmissionFault):
        call(1)
    assert call(0) == 0
    assert "ended during its call" in str(call.fault)


def test_what_is_not_plain_is_refused_as_an_argument_before_anything_runs(host):
    call = host("def f(a): return 1")
    with pytest.raises(ArgumentError, match="type object"):
        call(object())
    assert call.fault is None
    assert call(1) == 1


def test_a_call_that_takes_too_long_is_a_fault_on_time(host):
    call = host("import time\ndef f(n): time.sleep(n); return n", wall_seconds=1)
    assert call(0.5) == 0.5
    began = time.monotonic()
    with pytest.raises(SubmissionFault, match="within 1 s"):
        call(30)
    assert time.monotonic() - began < 2.5


SPINS = """
import time
def f(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
    return seconds
"""


def test_time_is_counted_over_all_calls(host):
    call, done = host(SPINS, seconds=2, total_seconds=1), []
    with pytest.raises(SubmissionFault, match=r"CPU time|used up total_seconds"):
        done.extend(call(0.4) for _ in range(10))
    assert len(done) <= 3


def test_a_function_that_never_reads_does_not_hold_the_test(host):
    call = host("import time\ntime.sleep(60)\ndef f(n): return n", wall_seconds=0.1)
    with pytest.raises(SubmissionFault):
        call("x" * 10_000_000)


def test_an_answer_that_drips_does_not_hold_the_test(host):
    source = (
        WRITER
        + "import time\ndef f():\n  everywhere(frame()[:4])\n  while True: time.sleep(.1); everywhere(b'x')"
    )
    began = time.monotonic()
    with pytest.raises(SubmissionFault):
        host(source, wall_seconds=1)()
    assert time.monotonic() - began < 4


def test_printing_much_disturbs_nothing(host):
    source = """
import os, subprocess, sys
def f(n):
    for _ in range(n):
        print("x" * 1000)
        sys.stderr.write("y" * 1000)
    os.write(1, b"z" * 3_000_000)
    os.write(2, b"z" * 3_000_000)
    subprocess.run(["head", "-c", "3000000", "/dev/zero"])
    return n
"""
    call = host(source, seconds=20)
    assert [call(20_000), call(20_000)] == [20_000, 20_000]


def test_input_is_empty(host):
    with pytest.raises(EOFError):
        host("def f(): return input()")()


def test_recursion_that_is_deep_but_right_works_and_endless_recursion_is_its_own_error(host):
    source = """
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
def f(n): return depth(n)
"""
    call = host(source, seconds=20)
    assert call(20_000) == 20_000
    with pytest.raises(RecursionError):
        call(10**9)
    assert call(20_000) == 20_000


def test_recursion_through_c_code_does_not_crash(host):
    source = "def f(n): return 0 if n == 0 else 1 + max(map(f, [n - 1]))"
    assert host(source, seconds=20)(5_000) == 5_000


def test_a_module_beside_the_submission_imports_and_shadows_nothing(host):
    (host.folder / "artifacts" / "part.py").write_text("VALUE = 7")
    (host.folder / "artifacts" / "random.py").write_text("raise SystemExit")
    call = host("import part, random\nrandom.random()\ndef f(): return part.VALUE")
    assert call() == 7


def test_the_submission_sees_nothing_of_the_evaluators_side(host):
    source = """
import os, sys
def f():
    return [sorted(os.environ), sys.argv, [name for name in sys.modules if "scorehost" in name], __name__]
"""
    names, argv, modules, name = host(source)()
    assert set(names) <= {"PATH", "HOME", "PYTHONHASHSEED", "LC_CTYPE"}
    assert [word.rpartition("/")[2] for word in argv] == ["solution.py"]
    assert (modules, name) == ([], "solution")


def test_a_child_that_lives_on_gives_no_answer_of_a_later_call(host):
    source = (
        WRITER
        + """
import time
def f(n):
    if os.fork() == 0:
        while True:
            everywhere(frame())
            time.sleep(0.01)
    time.sleep(0.1)
    return n
"""
    )
    call = host(source, seconds=3)
    with pytest.raises(SubmissionFault):
        assert [call(1), call(2)] == "never"


def test_calls_from_several_threads_take_turns(host):
    call, seen = host("import time\ndef f(n): time.sleep(0.01); return n"), []
    threads = [threading.Thread(target=lambda n=n: seen.append((n, call(n)))) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [(n, n) for n in range(10)]


def test_it_is_called_plainly_in_an_async_evaluator_and_in_its_threads(host):
    (host.folder / "artifacts" / "solution.py").write_text("def f(n): return n + 1")

    async def evaluate():
        call = untrusted(host.awaited, "box", "artifacts/solution.py", "f")
        return call(1), await asyncio.to_thread(call, 2)

    assert asyncio.run(evaluate()) == (2, 3)


def test_only_a_named_host_that_exists_runs_untrusted_code(host):
    with pytest.raises(UnknownEnvironment):
        untrusted(host.scoring, None, "a.py", "f")
    with pytest.raises(UnknownEnvironment):
        untrusted(host.scoring, "nosuch", "a.py", "f")()


@pytest.mark.parametrize("flavour", [Scoring, AsyncScoring])
def test_a_host_that_holds_gold_runs_no_untrusted_code_and_is_told_how_to_have_none(host, flavour):
    scoring = flavour(host.scoring.link, ("box", "audit"), single=False, gold=("audit",))
    with pytest.raises(ScoringError, match=r"set `gold: false` in evaluation\.environments\.audit"):
        untrusted(scoring, "audit", "artifacts/solution.py", "f")
    assert getattr(scoring, "blocking", scoring).with_gold == {"audit"}


ODD_LIMITS = ({"seconds": 0}, {"seconds": float("nan")}, {"total_seconds": -1}, {"wall_seconds": math.inf})


@pytest.mark.parametrize("options", ODD_LIMITS)
def test_limits_are_positive_numbers(host, options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is a number of seconds above 0"):
        host("def f(): return 1", **options)


def test_closing_ends_the_process(host):
    with host("import os\ndef f(): return os.getpid()") as call:
        pid = call()
        assert (host.folder / "/proc" / str(pid)).exists()
    assert not (host.folder / "/proc" / str(pid)).exists()


class HeldUp:
    """A link whose controller is held up: requests are answered late, and what came lies ready."""

    def __init__(self, link, **late):
        self._link, self._late = link, late

    def __getattr__(self, name):
        return getattr(self._link, name)

    def call(self, message, stdin=(), timeout=None):
        began = time.monotonic()
        value = self._link.call(message, stdin, timeout)
        time.sleep(max(0.0, self._late.get(message["kind"], 0) - (time.monotonic() - began)))
        return None if timeout is not None and time.monotonic() - began > timeout else value


@pytest.mark.parametrize("late", [{"send": 0.8}, {"receive": 0.8}])
def test_an_answer_that_came_in_time_counts_when_the_controller_tells_it_late(host, late):
    (host.folder / "artifacts" / "solution.py").write_text("def f(n): return n + 1")
    plain = Scoring(HeldUp(host.scoring.link), ("box",), single=False)
    call = untrusted(plain, "box", "artifacts/solution.py", "f", seconds=0.5, wall_seconds=0.5)
    assert call(1) == 2
    plain.link._late.update(late)
    assert call(2) == 3
    call.close()


def test_a_function_that_is_late_itself_is_a_fault_however_the_controller_is(host):
    (host.folder / "artifacts" / "solution.py").write_text(
        "import time\ndef f(n):\n    time.sleep(n)\n    return n"
    )
    plain = Scoring(HeldUp(host.scoring.link), ("box",), single=False)
    call = untrusted(plain, "box", "artifacts/solution.py", "f", wall_seconds=0.3)
    assert call(0) == 0
    plain.link._late["send"] = 0.2
    with pytest.raises(SubmissionFault, match=r"did not answer within 0\.3 s"):
        call(5)


class InPieces(HeldUp):
    """Hands the first bytes of an answer on late, and the rest at the next look."""

    rest = b""

    def call(self, message, stdin=(), timeout=None):
        if message["kind"] != "receive" or not self._late:
            return super().call(message, stdin, timeout)
        if self.rest:
            data, self.rest = self.rest, b""
            told = {"stdout": base64.b64encode(data).decode(), "stderr": "", "ended": False}
            return {"ok": True, "value": told}
        reply = super().call(message, stdin)
        data = base64.b64decode(reply["value"]["stdout"])
        self.rest = data[3:]
        return {"ok": True, "value": {**reply["value"], "stdout": base64.b64encode(data[:3]).decode()}}


def test_an_answer_of_which_a_part_was_late_is_looked_at_before_it_is_judged(host, monkeypatch):
    monkeypatch.setattr(call_clock, "_READY_SECONDS", 0.2)
    (host.folder / "artifacts" / "solution.py").write_text("def f(n): return n + 1")
    plain = Scoring(InPieces(host.scoring.link), ("box",), single=False)
    with untrusted(plain, "box", "artifacts/solution.py", "f", wall_seconds=0.3) as call:
        assert call(1) == 2
        plain.link._late["receive"] = 0.8
        assert call(2) == 3
