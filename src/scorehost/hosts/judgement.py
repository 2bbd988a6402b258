"""Whose fault is it that an evaluator's host ended without a result? Pure: facts in, a failure out."""

from __future__ import annotations

from dataclasses import dataclass

from scorehost.model.blame import Facts, Order, Place, Ran, Trouble, blame, peak_of
from scorehost.model.failure import Failure, Phase, failure
from scorehost.model.limits import MIB

KILLED = 137  # 128 + SIGKILL
UNFED = 3  # the runner's, and that of what takes it in, when its input ends before all has come
NOT_EXECUTABLE, NOT_FOUND = 126, 127  # the shell's
UNUSABLE_CODES = (NOT_EXECUTABLE, NOT_FOUND)
FIRST_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of the end of an evaluator's host.

    `exit_code` None: its container was removed. `oom`: the engine flagged a kill for memory, or told of one.
    `struck`: the engine told that somebody else had it end or remove the container.
    `ended_by_us`: why scorehost itself ended it, if it did. `greeted`: the runner had said hello. `execs`:
    how many processes ran beside the evaluator. `peak_bytes`: its memory at most, None when nobody saw that.
    `image` ("the image …"), `log_end`, `output_bytes`, `seconds` only make the message.
    """

    exit_code: int | None
    oom: bool = False
    struck: bool = False
    ended_by_us: str = ""
    greeted: bool = True
    execs: int = 0
    image: str = ""
    log_end: str = ""
    memory_mb: int = 0
    peak_bytes: int | None = None
    output_bytes: int = 0
    seconds: float = 0.0


def judged(ending: Ending) -> Failure:
    """The failure of an attempt whose evaluator's host ended and said nothing, by the table of blame.

    137 alone says nothing: it is memory only when the engine says so. Else something inside killed the
    evaluator (such as a child of it): were that the environment's fault, a submission could take failures
    out of the mean.
    """
    facts = facts_of(ending)
    verdict = blame(facts)
    early = verdict.kind in ("image_unusable", "engine_lost") and not ending.greeted
    phase = Phase.START if early else Phase.EVALUATE
    return failure(phase, verdict.kind, _words(ending, facts, verdict.kind), retryable=verdict.retried)


def facts_of(ending: Ending) -> Facts:
    """What the table of blame is asked with."""
    code = ending.exit_code
    if ending.ended_by_us == "output_limit":
        trouble = Trouble.PRINTED
    elif ending.ended_by_us == "timed_out":
        trouble = Trouble.TIME
    elif code is None:
        trouble = Trouble.REMOVED
    elif code == KILLED and ending.oom:
        trouble = Trouble.MEMORY
    elif code == UNFED and not ending.greeted:
        trouble = Trouble.CUT
    else:
        trouble = Trouble.ENDED
    return Facts(
        trouble,
        Place.EVALUATOR,
        Ran.NOTHING if not ending.greeted else Ran.SUBMITTED if ending.execs else Ran.TRUSTED,
        Order.OTHERS if ending.struck else Order.OURS if ending.ended_by_us else Order.NOBODY,
        peak=peak_of(ending.peak_bytes, ending.memory_mb * MIB),
    )


def _words(ending: Ending, facts: Facts, kind: str) -> str:
    code = ending.exit_code
    if kind == "host_lost":
        return lost_words(facts, "the evaluator's host", ending.memory_mb, ending.peak_bytes)
    if kind == "image_unusable":
        return _unusable(ending)
    told = {
        "output_limit": f"the evaluator's host printed more than {ending.output_bytes} bytes",
        "evaluator_timeout": too_late(ending.seconds),
        "evaluator_oom": "the evaluator's host ran out of memory"
        + memory_words(ending.memory_mb, ending.peak_bytes),
        "engine_lost": "the way to the evaluator's host was cut before its runner had all that it waits for",
    }
    if kind in told:
        return told[kind]
    signal = f" (signal {code - FIRST_SIGNAL})" if code is not None and code > FIRST_SIGNAL else ""
    return f"the evaluator ended its process with exit status {code}{signal} and returned nothing"


def lost_words(facts: Facts, host: str, limit_mb: int, peak_bytes: int | None) -> str:
    """Why a host was lost by nobody's doing who hands in or writes tasks."""
    if facts.order is Order.OTHERS:
        why = "somebody else had the engine kill, stop, pause, restart or remove its container"
    elif facts.trouble is Trouble.REMOVED:
        why = "its container was removed"
    else:
        text = "the kernel killed in it for want of memory, and its own limit was far"
        why = text + memory_words(limit_mb, peak_bytes)
    return f"{host} was lost: {why}"


def too_late(seconds: float) -> str:
    """What is said of an evaluator whose time ran out."""
    return f"the evaluator did not return within {seconds:g} s"


def memory_words(limit_mb: int, peak_bytes: int | None) -> str:
    """The limit and, when it is known, the peak, to follow a message."""
    seen = f", peak {peak_bytes // 2**20} MiB" if peak_bytes else ""
    return f"; the limit is {limit_mb} MiB{seen}"


def _unusable(ending: Ending) -> str:
    said = f": {ending.log_end}" if ending.log_end else ""
    if ending.ended_by_us == "output_limit":
        text = f"{ending.image} printed more than {ending.output_bytes} bytes before its runner spoke{said}"
    elif ending.exit_code == NOT_FOUND:
        text = f"{ending.image} has no python3 on its PATH{said}"
    elif ending.exit_code == NOT_EXECUTABLE:
        text = f"python3 of {ending.image} may not be run, or is not made for this machine{said}"
    else:
        text = f"python3 of {ending.image} cannot run the runner (exit status {ending.exit_code}){said}"
    return text
