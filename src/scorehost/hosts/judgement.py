"""Whose fault is it that an evaluator's host ended without a result? Pure: facts in, a failure out."""

from __future__ import annotations

from dataclasses import dataclass

from scorehost.model.failure import Failure, Phase, failure

KILLED = 137  # 128 + SIGKILL
UNFED = 3  # the runner's, and that of what takes it in, when its input ends before all has come
UNUSABLE_CODES = (126, 127)  # the shell's: cannot be run, not found
FIRST_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of the end of an evaluator's host.

    `exit_code` None: its container was removed. `oom`: the engine flagged a kill for memory, or told of one.
    `struck`: the engine told that somebody had it kill the container.
    `ended_by_us`: why scorehost itself ended it, if it did. `greeted`: the runner had said hello. `execs`:
    how many processes ran beside the evaluator. `image`, `log_end`, `memory_mb`, `peak_bytes`, `output_bytes`
    only make the message.
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


def judged(ending: Ending) -> Failure:
    """The failure of an attempt whose evaluator's host ended and said nothing.

    137 alone says nothing: it is memory only when the engine says so, and the environment's fault only when
    the engine says that somebody had it kill the container. Else something inside killed the evaluator (such
    as a child of it): were that the environment's fault, a submission could take failures out of the mean.
    """
    code = ending.exit_code
    if ending.ended_by_us == "output_limit":
        text = f"the evaluator's host printed more than {ending.output_bytes} bytes"
        return failure(Phase.EVALUATE, "output_limit", text)
    if code is None:
        return _lost(ending, "its container was removed")
    if code == KILLED and ending.oom:
        text = "the evaluator's host ran out of memory" + memory_words(ending.memory_mb, ending.peak_bytes)
        return failure(Phase.EVALUATE, "evaluator_oom", text)
    if code == KILLED and ending.struck:
        return _lost(ending, "its container was killed from outside")
    if not ending.greeted:
        return _not_greeted(ending, code)
    signal = f" (signal {code - FIRST_SIGNAL})" if code > FIRST_SIGNAL else ""
    text = f"the evaluator ended its process with exit status {code}{signal} and returned nothing"
    return failure(Phase.EVALUATE, "evaluator_exit", text)


def too_late(seconds: float) -> str:
    """What is said of an evaluator whose time ran out."""
    return f"the evaluator did not return within {seconds:g} s"


def memory_words(limit_mb: int, peak_bytes: int | None) -> str:
    """The limit and, when it is known, the peak, to follow a message."""
    seen = f", peak {peak_bytes // 2**20} MiB" if peak_bytes else ""
    return f"; the limit is {limit_mb} MiB{seen}"


def _not_greeted(ending: Ending, code: int) -> Failure:
    if code == UNFED:
        text = "the connection to the evaluator's host was cut before all had come that its runner waits for"
        return failure(Phase.START, "engine_lost", text)
    return failure(Phase.START, "image_unusable", _unusable(ending, code))


def _unusable(ending: Ending, code: int) -> str:
    if code in UNUSABLE_CODES:
        return f"the image {ending.image} has no python3 on its PATH"
    said = f": {ending.log_end}" if ending.log_end else ""
    return f"python3 of the image {ending.image} cannot run the runner (exit status {code}){said}"


def _lost(ending: Ending, text: str) -> Failure:
    # Once something ran beside the evaluator, the end may be its doing: never tried again by itself.
    return failure(
        Phase.EVALUATE, "host_lost", f"the evaluator's host was lost: {text}", retryable=not ending.execs
    )
