"""What an untrusted call may take and give: CPU time, which a busy machine does not use up; large answers."""

import time

import pytest

from scorehost_sdk import ArgumentError, ScoringError, SubmissionError, SubmissionFault, UnknownEnvironment
from scorehost_sdk.call_clock import Allowance, CallClock, generous
from scorehost_sdk.calls import untrusted
from scorehost_sdk.scoring import Scoring

SPINS = """
import time
def f(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
    return seconds
"""


class Slow:
    """A link to a host that gets a tenth of a core: its CPU time goes on at a tenth of the clock's pace."""

    def __init__(self, link):
        self._link, self._began = link, time.monotonic()

    def __getattr__(self, name):
        return getattr(self._link, name)

    def call(self, message, stdin=(), timeout=None):
        if message["kind"] == "cpu":
            return {"ok": True, "value": {"seconds": (time.monotonic() - self._began) / 10}}
        return self._link.call(message, stdin, timeout)


def test_a_call_that_a_busy_machine_holds_up_is_no_fault(host):
    (host.folder / "artifacts" / "solution.py").write_text("import time\ndef f(): time.sleep(1.2); return 7")
    busy = Scoring(Slow(host.scoring.link), ("box",), single=False)
    with untrusted(busy, "box", "artifacts/solution.py", "f", seconds=0.3) as call:
        assert call() == 7  # 0.12 s of CPU time


def test_a_call_that_computes_too_long_is_a_fault_soon(host):
    call, began = host(SPINS, seconds=0.5), time.monotonic()
    with pytest.raises(SubmissionFault, match=r"f did not answer within 0\.5 s of CPU time"):
        call(60)
    assert time.monotonic() - began < 10


def test_a_call_that_waits_has_wall_time_of_its_own(host):
    assert generous(5) == 20  # four times, and at least 20 s
    assert generous(30) == 120
    with pytest.raises(SubmissionFault, match=r"within 0\.5 s$"):
        host("import time\ndef f(): time.sleep(60)", seconds=5, wall_seconds=0.5)()


def test_where_nobody_counts_cpu_time_wall_time_is_the_limit():
    clock = CallClock(cpu=0.01, wall=0.05, measure=lambda: None)
    time.sleep(0.02)
    assert 0 < clock.patience() <= 0.03
    time.sleep(0.04)
    assert clock.patience() == 0
    assert clock.over == "within 0.05 s"


def test_past_the_limit_one_more_look_is_taken_before_anyone_is_judged():
    clock = CallClock(cpu=0.01, wall=0.02, measure=lambda: None)
    time.sleep(0.05)  # held up for longer than the whole limit, with the answer ready
    assert clock.patience() == 0  # a look at what lies ready, and no TimeoutError


def test_bytes_that_go_on_coming_past_the_limit_end_in_a_time_out():
    clock = CallClock(cpu=0.01, wall=0.02, measure=lambda: None)
    time.sleep(0.03)
    with pytest.raises(TimeoutError):  # after 2 s
        while True:
            clock.patience()
            time.sleep(0.005)


def test_the_sum_of_all_calls_is_charged_at_what_was_computed_not_at_what_was_waited():
    used = [0.0]
    allowance = Allowance(10.0, None, lambda: used[0])
    allowance.begin()
    for _ in range(8):
        allowance.spend(2)  # wall time
        used[0] += 0.5
    assert allowance.left(5) == 5  # 4 s of 10 were used
    used[0] = 9.0
    allowance.spend(6)
    assert allowance.left(5) == pytest.approx(1)
    allowance.end()
    allowance.begin()  # another process: its host had used 9 s already
    assert allowance.left(5) == pytest.approx(1)


def test_a_large_answer_comes_back_where_the_test_asks_for_it(host):
    source = """
def f(kind):
    return {"list": list(range(50_000)), "int": 7 ** 10_000, "keys": {n: n for n in range(20_000)},
            "bytes": b"x" * 3_000_000}[kind]
"""
    for kind in ("list", "int", "keys", "bytes"):
        with pytest.raises(SubmissionFault):
            host(source)(kind)
    large = host(source, max_reply_bytes=4 << 20)
    assert large("list") == list(range(50_000))
    assert large("int") == 7**10_000
    assert large("keys") == {n: n for n in range(20_000)}
    assert large("bytes") == b"x" * 3_000_000
    large.close()


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, (64 << 20) + 1])
def test_a_reply_may_have_one_to_64_mebibytes(host, size):
    with pytest.raises(ValueError, match="max_reply_bytes"):
        host("def f(): return 1", max_reply_bytes=size)


LIKE_NUMPY = """
class Array:  # what numpy's arrays and scalars have in common
    dtype, shape = "float64", ()
    def __init__(self, held): self.held = held
    def tolist(self): return self.held
def f(kind):
    return {"scalar": Array(2.5), "int": [Array(3)], "array": Array([[1.0, 2.0], [3.0, 4.0]]),
            "nan": Array(float("nan")), "itself": Array(object())}[kind]
"""


def test_arrays_and_scalars_of_numpy_come_as_lists_and_numbers(host):
    call = host(LIKE_NUMPY)
    assert [call("scalar"), call("int"), call("array")] == [2.5, [3], [[1.0, 2.0], [3.0, 4.0]]]
    for kind in ("nan", "itself"):
        with pytest.raises(SubmissionFault):
            host(LIKE_NUMPY)(kind)
    call.close()


def test_arrays_can_be_given_too(host):
    names = {}
    exec(LIKE_NUMPY, names)  # noqa: S102 - the text above
    assert host("def f(a): return a")(names["Array"]([1, 2])) == [1, 2]


def test_an_argument_that_is_not_plain_is_no_type_error_that_a_test_could_take_for_the_submissions(host):
    with pytest.raises(ArgumentError) as caught:
        host("def f(a): return a")(object())
    assert isinstance(caught.value, ScoringError)
    assert not isinstance(caught.value, TypeError)
    assert not hasattr(caught.value, "raised_by_submission")


OWN = """
class BankError(ValueError): pass
class InsufficientFunds(BankError): pass
def f(n):
    if n > 100: raise InsufficientFunds("only 100")
    return n
"""


def test_an_exception_of_the_submissions_own_is_told_by_name_and_the_code_can_be_called_on(host):
    call = host(OWN)
    with pytest.raises(SubmissionError, match="it raised InsufficientFunds: only 100") as caught:
        call(200)
    error = caught.value
    assert (error.type_name, error.text) == ("InsufficientFunds", "only 100")
    assert error.lineage == (
        "InsufficientFunds",
        "BankError",
        "ValueError",
        "Exception",
        "BaseException",
        "object",
    )
    assert isinstance(error, SubmissionFault)  # an evaluator that knows no more than that goes on to work
    assert error.raised_by_submission
    assert call.fault is None
    assert call(50) == 50


def test_an_exception_that_the_test_names_is_raised_as_that(host):
    class BankError(Exception):
        """What the test's own module has."""

    class OddError(Exception):
        """Cannot be made of a text."""

        def __init__(self):
            super().__init__("odd")

    with pytest.raises(BankError, match=r"^only 100$") as caught:
        host(OWN, exceptions=[BankError])(200)
    assert caught.value.raised_by_submission
    OddError.__name__ = "BankError"
    with pytest.raises(SubmissionError):
        host(OWN, exceptions=[OddError])(200)


def test_an_exception_that_only_has_the_name_of_a_built_in_one_is_an_own_one(host):
    call = host("class KeyError(KeyError): pass\ndef f(): raise KeyError")
    with pytest.raises(SubmissionError) as caught:
        call()
    assert caught.value.lineage[:3] == ("KeyError", "KeyError", "LookupError")


HINTS = {
    'raise RuntimeError("can\'t start new thread")': (RuntimeError, r"limits\.pids"),
    "raise BlockingIOError(11, 'Resource temporarily unavailable')": (BlockingIOError, r"limits\.pids"),
    "raise OSError(24, 'Too many open files')": (OSError, r"open files \(\d+\)"),
    "raise OSError(28, 'No space left on device')": (OSError, "tmpfs_mb"),
    "raise MemoryError": (MemoryError, r"limits\.memory_mb"),
}


@pytest.mark.parametrize("source", HINTS)
def test_an_error_that_a_limit_brought_about_names_the_limit(host, source):
    kind, words = HINTS[source]
    with pytest.raises(kind, match=words):
        host(f"def f(): {source}")()


def test_the_single_scoring_host_runs_no_untrusted_code_whatever_it_is_called(host):
    single = Scoring(host.scoring.link, (), single=True)
    with pytest.raises(UnknownEnvironment, match="gold: false"):
        untrusted(single, "main", "artifacts/solution.py", "f")
