"""`executor: openai` against a real HTTP server: what is sent, what comes, and what goes wrong between."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from adapter_scripts import JUDGE, SESSION
from http_endpoint import completion, cuts, drips, endpoint, floods, sends, waits

from scorehost.adapters.requests import BehaviorRequest
from scorehost.calls.records import call_files
from scorehost.model.call import CallRecord
from scorehost.spec.roles import Role

pytestmark = pytest.mark.anyio
KEY = "hush-hush-99"


async def ask(bench, *answers, request=SESSION, flood_status=200, **keys):
    """One call; gives it and what the server saw."""
    keys.setdefault("timeout_seconds", 20)
    with endpoint(*answers, flood_status=flood_status) as (url, script):
        role = Role(executor="openai", base_url=url, model="some/model", api_key="${MY_KEY}", **keys)
        async with bench.open(role=role, environment={"MY_KEY": KEY}) as roles:
            call = await roles.call("judge", request)
        return call, script.seen


async def test_a_session_is_one_request_that_does_not_stream(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-controller")
    before = ({"role": "user", "content": "first"}, {"role": "assistant", "content": {"a": 1}})
    call, seen = await ask(
        bench,
        sends(completion()),
        request=SESSION.model_copy(update={"turn": 2, "messages": before}),
        parameters={"temperature": 0, "max_output_tokens": 9, "top_k": 3},
    )
    ((_, path, headers, body),) = seen
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "org-of-the-controller" not in str(headers)
    assert body == {
        "model": "some/model",
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": '{"a":1}'},
            {"role": "user", "content": "look at it"},
        ],
        "stream": False,
        "temperature": 0,
        "max_tokens": 9,
        "top_k": 3,
    }
    made = call.reply.provenance
    assert (call.reply.output, made.request_id, made.served_model) == ("fine", "chatcmpl-1", "served-1")
    assert (made.token_usage.input_tokens, made.token_usage.output_tokens) == (11, 7)
    assert (made.token_usage.cached_input_tokens, made.finish_reason) == (4, "stop")
    assert made.provider.startswith("127.0.0.1:")
    assert json.loads(call.request) == body


async def test_a_judge_answers_with_one_json_object(bench):
    content = '{"status": "failed", "reason": "it is five"}'
    call, ((_, _, _, body),) = await ask(bench, sends(completion(content)), request=JUDGE)
    assert (call.reply.status, call.reply.reason) == ("failed", "it is five")
    told = body["messages"][-1]["content"]
    assert json.loads(told) == {"prompt": "add 2 and 2", "output": "4", "assertion": "it is four"}


@pytest.mark.parametrize(
    "content", ["passed", 'Sure! {"status": "passed", "reason": "x"}', "[]", '{"status": "passed"}', ""]
)
async def test_nothing_is_fished_out_of_a_judges_prose(bench, content):
    call, _ = await ask(bench, sends(completion(content)), request=JUDGE)
    assert call.fault.kind == "adapter_malformed"


async def test_429_is_tried_again_after_retry_after_and_each_try_is_recorded(bench):
    call, seen = await ask(
        bench,
        sends({"error": "busy"}, 429, Retry_After="1"),
        sends({"error": "down"}, 503),
        sends(completion()),
    )
    assert call.fault is None
    assert [each.http_status for each in call.record.tries] == [429, 503, 200]
    assert call.record.tries[0].retry_after_seconds == 1
    assert seen[1][0] - seen[0][0] >= 1.0
    assert call.outcomes[0].reply_data == b'{"error": "busy"}'


async def test_retry_after_may_be_a_date(bench):
    # A date has whole seconds: this one is more than 1 s ahead.
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=2.5), usegmt=True)
    call, seen = await ask(bench, sends({}, 429, Retry_After=later), sends(completion()))
    assert call.fault is None
    assert 1.0 <= seen[1][0] - seen[0][0] <= 3.5


async def test_a_status_that_stays_is_a_fault_after_three_tries(bench):
    call, seen = await ask(bench, sends({"error": "down"}, 500))
    assert (call.fault.kind, len(call.record.tries), len(seen)) == ("adapter_exit", 3, 3)
    assert "500" in call.fault.message
    # The pauses double: half a second, then a second.
    assert seen[2][0] - seen[0][0] >= 1.5


async def test_a_retry_after_beyond_the_time_limit_is_not_waited_for(bench):
    began = time.monotonic()
    call, seen = await ask(bench, sends({}, 429, Retry_After="3600"), timeout_seconds=5)
    assert (call.fault.kind, len(seen), time.monotonic() - began < 5) == ("adapter_exit", 1, True)


@pytest.mark.parametrize("told", ["soon", "-1", "1.5", "\u00b2", "9" * 400])
async def test_a_retry_after_that_says_nothing_sensible_breaks_nothing(bench, told):
    call, _ = await ask(bench, sends({}, 429, Retry_After=told), sends(completion()), timeout_seconds=5)
    # Seconds without end are not waited for; what is no number of seconds is as if it were not there.
    assert (call.fault is None) == (not told.startswith("9"))
    assert CallRecord.model_validate_json(call_files(call, "c")["c/call.json"]) == call.record


async def test_a_status_whose_body_is_cut_off_counts_and_is_asked_again(bench):
    def cut_503(handler):
        handler.send_response(503)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    call, seen = await ask(bench, cut_503, sends(completion()))
    assert (call.fault, len(seen)) == (None, 2)
    first = call.record.tries[0]
    assert (first.http_status, first.fault.kind, "503" in first.fault.message) == (503, "adapter_exit", True)


async def test_what_is_recorded_of_a_request_is_what_was_sent(bench):
    bodies = []

    def notes(handler):
        bodies.append(handler.server.script.raw[-1])
        sends(completion())(handler)

    call, _ = await ask(bench, notes)
    assert bodies == [call.request]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, "adapter_exit") for status in (301, 401, 402, 403, 404, 407, 408, 409)),
        *((status, "adapter_refused") for status in (400, 413, 422, 451)),
    ],
)
async def test_other_statuses_are_not_tried_again_and_those_about_the_request_itself_are_a_refusal(
    bench, status, kind
):
    call, seen = await ask(bench, sends({"error": "no"}, status, Location="http://127.0.0.1:9/"))
    assert (call.fault.kind, len(seen), call.record.tries[0].http_status) == (kind, 1, status)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (cuts(), "adapter_exit"),
        (cuts(b'{"id": "chatcmpl-1", '), "adapter_exit"),
        (waits(8), "adapter_timeout"),
        (drips, "adapter_timeout"),
        (floods, "adapter_overflow"),
        (sends(b"<html>It works!</html>"), "adapter_malformed"),
        (sends(b'{"id": "chatcmpl-1", "id": "2"}'), "adapter_malformed"),
        (sends(b""), "adapter_malformed"),
        (sends([completion()]), "adapter_malformed"),
        (sends(completion(choices=[])), "adapter_malformed"),
        (sends(completion(choices=[{"message": {"content": None}}])), "adapter_malformed"),
        (sends(completion(id=None)), "adapter_provenance"),
        (sends(completion(id=5)), "adapter_provenance"),
        (sends(completion(usage={"prompt_tokens": -1, "completion_tokens": 1})), "adapter_provenance"),
        (sends(completion(), X_Cache="HIT"), "adapter_cache_hit"),
        (
            sends(completion(choices=[{"finish_reason": "length", "message": {"content": "cut"}}])),
            "adapter_truncated",
        ),
    ],
)
async def test_what_goes_wrong_is_told_by_its_kind_within_the_limit(bench, answer, kind):
    began = time.monotonic()
    call, _ = await ask(bench, answer, timeout_seconds=2)
    assert (call.reply, call.fault.kind) == (None, kind)
    assert time.monotonic() - began < 2 + 5


async def test_an_error_without_end_is_read_under_a_cap(bench):
    call, _ = await ask(bench, floods, flood_status=404)
    assert call.fault.kind == "adapter_exit"
    assert call.record.tries[0].reply_bytes < 6_000_000


async def test_a_judge_that_was_cut_off_is_truncated_not_malformed(bench):
    answer = completion(choices=[{"finish_reason": "length", "message": {"content": '{"status": "pas'}}])
    call, _ = await ask(bench, sends(answer), request=JUDGE)
    assert call.fault.kind == "adapter_truncated"


async def test_missing_counts_are_missing_in_a_session_and_a_fault_of_a_judge(bench):
    answer = completion('{"status": "passed", "reason": "yes"}', usage=None)
    call, _ = await ask(bench, sends(answer))
    assert call.reply.provenance.token_usage.input_tokens is None
    call, _ = await ask(bench, sends(answer), request=JUDGE)
    assert call.fault.kind == "adapter_provenance"


async def test_the_same_id_twice_is_a_replay(bench):
    with endpoint(sends(completion())) as (url, _):
        role = Role(executor="openai", base_url=url, model="m")
        async with bench.open(role=role) as roles:
            assert (await roles.call("judge", SESSION)).fault is None
            assert (await roles.call("judge", SESSION)).fault.kind == "adapter_duplicate_id"


async def test_nothing_listens(bench):
    role = Role(executor="openai", base_url="http://127.0.0.1:9/v1", model="m", retries=1)
    async with bench.open(role=role) as roles:
        call = await roles.call("judge", SESSION)
    assert (call.fault.kind, len(call.record.tries)) == ("adapter_exit", 2)


async def test_the_key_is_in_nothing_that_is_kept(bench):
    call, _ = await ask(bench, sends(completion(f"your key is {KEY}")))
    assert call.reply.output == "your key is [secret]"
    assert KEY.encode() not in b"".join(call_files(call, "c").values())
    call, _ = await ask(bench, sends({"error": f"wrong key {KEY}"}, 401))
    assert KEY.encode() not in b"".join(call_files(call, "c").values())


async def test_an_endpoint_loads_no_plugins(bench):
    call, seen = await ask(
        bench, sends(completion()), request=BehaviorRequest(condition="control", prompt="do")
    )
    assert (call.fault.kind, seen) == ("adapter_missing", [])
