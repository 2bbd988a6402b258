"""A host that scorehost killed because its time was over: that is the reason, and not the kill."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scorehost.hosts.evaluator import Dialogue


@pytest.mark.anyio
async def test_a_keeper_that_was_too_slow_to_answer_is_a_time_out_and_no_lost_host():
    limits = SimpleNamespace(evaluate_seconds=10.0)
    host = SimpleNamespace(ended="timed_out", blueprint=SimpleNamespace(limits=limits))
    why = await Dialogue.why_it_ended(SimpleNamespace(host=host), greeted=True)
    assert (why.kind, why.blame, why.retryable) == ("evaluator_timeout", "dataset", False)
    assert why.message == "the evaluator did not return within 10 s"
