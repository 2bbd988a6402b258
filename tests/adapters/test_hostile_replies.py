"""Whatever bytes an adapter prints: a checked reply or a fault of a declared kind, never anything else."""

from __future__ import annotations

import json

import pytest
from adapter_scripts import JUDGE, SESSION
from hypothesis import given
from hypothesis import strategies as st

from scorehost.adapters.registry import SeenIds
from scorehost.adapters.replies import parse_reply
from scorehost.adapters.requests import BehaviorRequest, TriggerRequest
from scorehost.adapters.tries import Outcome, settle
from scorehost.errors import CallFailed
from scorehost.model.failure import KINDS

REQUESTS = [
    SESSION,
    JUDGE,
    BehaviorRequest(condition="control", prompt="p"),
    TriggerRequest(prompt="p", plugin_archive=b"a"),
]
FIELDS = [
    *("request_id", "provider", "cache_hit", "token_usage", "output", "status", "reason", "finish_reason"),
    *("served_model", "cached_input_tokens", "loaded_plugin_sha256", "clean_control", "selected_skill"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
SOUND = {
    "request_id": "r",
    "provider": "p",
    "cache_hit": False,
    "token_usage": {"input_tokens": 1, "output_tokens": 1},
}


@given(data=st.binary() | st.text().map(str.encode))
def test_bytes_are_an_object_or_malformed(data):
    try:
        value = parse_reply(data)
    except CallFailed as fault:
        value = fault.kind
    assert isinstance(value, dict) or value == "adapter_malformed"


@given(
    value=st.dictionaries(st.sampled_from(FIELDS), VALUES | st.sampled_from(["passed", "stop", "x"])),
    sound=st.booleans(),
    request_=st.sampled_from(REQUESTS),
)
def test_an_object_is_a_reply_or_a_fault(value, sound, request_):
    value = {**value, **SOUND} if sound else value
    settled = settle(Outcome(request=b"", value=value), request_, SeenIds())
    assert (settled.reply is None) != (settled.fault is None)
    if settled.fault is not None:
        assert settled.fault.kind in KINDS


@pytest.mark.parametrize("text", ['"\\ud800"', '["\\udfff"]', '{"\\ud800": 1}'])
def test_half_of_a_surrogate_pair_is_no_text(text):
    with pytest.raises(CallFailed, match="half of a surrogate pair"):
        parse_reply(f'{{"output": {text}}}'.encode())


def test_a_whole_pair_is_one_sign():
    assert parse_reply(b'{"output": "\\ud83d\\ude00"}') == {"output": "\U0001f600"}


@pytest.mark.parametrize("count", [2**53, 10**300])
def test_a_count_that_other_readers_would_round_is_none(count):
    value = {**SOUND, "token_usage": {"input_tokens": count, "output_tokens": 1}, "output": "x"}
    value = parse_reply(json.dumps(value).encode())
    assert settle(Outcome(request=b"", value=value), SESSION, SeenIds()).fault.kind == "adapter_provenance"
