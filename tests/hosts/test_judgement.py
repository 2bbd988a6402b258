"""Who is to blame when an evaluator's host ends without a result: the table."""

from __future__ import annotations

import pytest

from scorehost.hosts.judgement import Ending, judged
from scorehost.model.failure import Blame

CASES = [
    # what is known of the end, kind, blame, retryable
    (Ending(exit_code=0), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=1), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=139), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=137, struck=True), "host_lost", Blame.ENVIRONMENT, True),
    # Nobody had the engine kill it, and memory was not short: a child of the evaluator may have done it.
    (Ending(exit_code=137), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=137, execs=1), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=None), "host_lost", Blame.ENVIRONMENT, True),
    # Whatever ran there: no process in a container can give the engine an order.
    (Ending(exit_code=137, struck=True, execs=1), "host_lost", Blame.ENVIRONMENT, True),
    (Ending(exit_code=143, struck=True), "host_lost", Blame.ENVIRONMENT, True),
    (Ending(exit_code=None, execs=3), "host_lost", Blame.ENVIRONMENT, True),
    # The machine's want of memory, and not the host's own limit: its peak was far from that.
    (
        Ending(exit_code=137, oom=True, memory_mb=64, peak_bytes=40 << 20),
        "host_lost",
        Blame.ENVIRONMENT,
        True,
    ),
    (
        Ending(exit_code=137, oom=True, memory_mb=64, peak_bytes=64 << 20),
        "evaluator_oom",
        Blame.DATASET,
        False,
    ),
    (Ending(exit_code=137, ended_by_us="timed_out"), "evaluator_timeout", Blame.DATASET, False),
    (Ending(exit_code=137, ended_by_us="timed_out", struck=True), "host_lost", Blame.ENVIRONMENT, True),
    (
        Ending(exit_code=137, ended_by_us="output_limit", greeted=False),
        "image_unusable",
        Blame.ENVIRONMENT,
        False,
    ),
    (Ending(exit_code=137, oom=True), "evaluator_oom", Blame.DATASET, False),
    (Ending(exit_code=137, oom=True, execs=1), "evaluator_oom", Blame.DATASET, False),
    # A child was killed for memory, but the evaluator itself then ended of its own will.
    (Ending(exit_code=1, oom=True), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=137, ended_by_us="output_limit"), "output_limit", Blame.DATASET, False),
    (Ending(exit_code=None, ended_by_us="output_limit"), "output_limit", Blame.DATASET, False),
    (Ending(exit_code=127, greeted=False), "image_unusable", Blame.ENVIRONMENT, False),
    (Ending(exit_code=126, greeted=False), "image_unusable", Blame.ENVIRONMENT, False),
    (Ending(exit_code=1, greeted=False), "image_unusable", Blame.ENVIRONMENT, False),
    # Its input ended: nobody but the way to it can have done that, since nothing has run there yet.
    (Ending(exit_code=3, greeted=False), "engine_lost", Blame.ENGINE, True),
    (Ending(exit_code=3), "evaluator_exit", Blame.DATASET, False),
    (Ending(exit_code=137, greeted=False, struck=True), "host_lost", Blame.ENVIRONMENT, True),
    (Ending(exit_code=137, greeted=False), "image_unusable", Blame.ENVIRONMENT, False),
    (Ending(exit_code=137, greeted=False, oom=True), "evaluator_oom", Blame.DATASET, False),
]


@pytest.mark.parametrize(("ending", "kind", "blame", "retryable"), CASES)
def test_the_end_of_an_evaluators_host_is_blamed_by_what_the_engine_knows(ending, kind, blame, retryable):
    failure = judged(ending)
    assert (failure.kind, failure.blame, failure.retryable) == (kind, blame, retryable)


def test_a_kill_for_memory_names_limit_and_peak():
    message = judged(Ending(exit_code=137, oom=True, memory_mb=64, peak_bytes=64 * 2**20)).message
    assert "limit is 64 MiB, peak 64 MiB" in message


def test_a_signal_is_named_by_its_number():
    assert "exit status 139 (signal 11)" in judged(Ending(exit_code=139)).message
