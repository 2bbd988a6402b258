"""A host that scorehost killed because its time was over: that is the reason, and not the kill."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from hosts.exec_places import one_host, sleeps
from scorehost.files.capture import Capture
from scorehost.hosts.evaluator import Dialogue

pytestmark = pytest.mark.anyio


async def ended_after(host, seconds=10.0):
    """How the end of an evaluator's host is judged that scorehost has just ended for its time."""
    limits = host.blueprint.limits.model_copy(update={"evaluate_seconds": seconds})
    object.__setattr__(host.blueprint, "limits", limits)
    await host.end("timed_out")
    talk = Dialogue(host, None, None, {}, None, Capture(100), None, None, None)
    return await talk.why_it_ended(greeted=True)


async def test_a_keeper_that_was_too_slow_to_answer_is_a_time_out_and_no_lost_host():
    async with one_host(sleeps) as host:
        why = await ended_after(host)
    assert (why.kind, why.blame, why.retryable) == ("evaluator_timeout", "dataset", False)
    assert why.message == "the evaluator did not return within 10 s"


async def test_a_host_that_somebody_had_paused_is_lost_and_did_not_run_out_of_its_time():
    async with one_host(sleeps) as host:
        found = host.engine._find(host.container)
        host.engine._emit(found, "pause")
        while not host.memory.struck(host.container):
            await anyio.lowlevel.checkpoint()
        why = await ended_after(host)
    assert (why.kind, why.blame, why.retryable) == ("host_lost", "environment", True)
