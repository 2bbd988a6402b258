"""What an adapter may do wrong: each ends within its limit and 5 s, and says which kind it is."""

from __future__ import annotations

import time

import pytest
from adapter_scripts import JUDGE, SESSION

from scorehost.adapters.registry import SeenIds
from scorehost.model.failure import Blame, Phase

pytestmark = pytest.mark.anyio

LIMIT = 2.0


async def test_a_sound_reply_is_given_with_its_provenance(bench):
    call = await bench.call("say(reply(finish_reason='stop', served_model='m-1', cached_input_tokens=1))")
    assert (call.fault, call.reply.output) == (None, "fine")
    made = call.reply.provenance
    assert (made.provider, made.finish_reason, made.served_model) == ("here", "stop", "m-1")
    usage = made.token_usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (3, 5, 1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("time.sleep(600)", "adapter_timeout"),
        ("say(reply())\ntime.sleep(600)", "adapter_timeout"),
        ("os.close(1)\nos.close(2)\ntime.sleep(600)", "adapter_timeout"),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass", "adapter_timeout"),
        ("say(reply())\nsys.exit(3)", "adapter_exit"),
        ("sys.exit(3)", "adapter_exit"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "adapter_exit"),
        ("say(reply())\nsubprocess.Popen(['sleep', '600'])", "adapter_exit"),
        ("say(reply())\nsubprocess.Popen(['sleep', '600'], start_new_session=True)", "adapter_exit"),
        ("say(reply())\nsay(reply())", "adapter_malformed"),
        ("print('thinking')\nsay(reply())", "adapter_malformed"),
        ("say(reply())\nprint('done')", "adapter_malformed"),
        ("pass", "adapter_malformed"),
        ("say([reply()])", "adapter_malformed"),
        ("print('{\"request_id\": NaN}')", "adapter_malformed"),
        ('print(\'{"a": 1, "a": 2}\')', "adapter_malformed"),
        ("sys.stdout.buffer.write(bytes(range(128, 256)))", "adapter_malformed"),
        ("print('[' * 100000)", "adapter_malformed"),
        ("say(reply(output='LEFT OUT'))", "adapter_malformed"),
        ("say(reply(output=None))", "adapter_malformed"),
        ("say(reply(output=5))", "adapter_malformed"),
        ("say({'exec': {'argv': ['true']}})", "adapter_malformed"),
        ("say(reply(request_id='LEFT OUT'))", "adapter_provenance"),
        ("say(reply(request_id='  '))", "adapter_provenance"),
        ("say(reply(request_id=7))", "adapter_provenance"),
        ("say(reply(provider=''))", "adapter_provenance"),
        ("say(reply(provider='LEFT OUT'))", "adapter_provenance"),
        ("say(reply(cache_hit='LEFT OUT'))", "adapter_provenance"),
        ("say(reply(cache_hit=None))", "adapter_provenance"),
        ("say(reply(cache_hit='false'))", "adapter_provenance"),
        ("say(reply(cache_hit=0))", "adapter_provenance"),
        ("say(reply(token_usage=8))", "adapter_provenance"),
        ("say(reply(token_usage={'input_tokens': -1, 'output_tokens': 1}))", "adapter_provenance"),
        ("say(reply(token_usage={'input_tokens': True, 'output_tokens': 1}))", "adapter_provenance"),
        ("say(reply(token_usage={'input_tokens': 1.0, 'output_tokens': 1}))", "adapter_provenance"),
        ("say(reply(finish_reason=5))", "adapter_provenance"),
        ("say(reply(cache_hit=True))", "adapter_cache_hit"),
        ("say(reply(finish_reason='length'))", "adapter_truncated"),
        ("block = 'x' * 1000000\nfor _ in range(100): print(block)", "adapter_overflow"),
        ("block = 'x' * 1000000\nfor _ in range(100): sys.stderr.write(block)", "adapter_overflow"),
        ("while True: os.write(1, b'x' * 65536)", "adapter_overflow"),
    ],
)
async def test_a_fault_is_told_by_its_kind_within_the_limit(bench, code, kind):
    began = time.monotonic()
    call = await bench.call(code, timeout_seconds=LIMIT)
    assert time.monotonic() - began < LIMIT + 5
    assert (call.reply, call.fault.kind) == (None, kind)
    failure = call.failure(Phase.EVALUATE)
    assert (failure.kind, failure.blame) == (kind, Blame.ADAPTER)
    assert call.fault.invalidates == (kind == "adapter_cache_hit")


async def test_an_id_that_comes_twice_is_a_fault_that_invalidates_the_job(bench):
    async with bench.open("say(reply(request_id='same'))") as roles:
        first = await roles.call("judge", SESSION)
        second = await roles.call("judge", SESSION)
    assert first.fault is None
    assert (second.fault.kind, second.fault.invalidates) == ("adapter_duplicate_id", True)


async def test_an_id_of_an_attempt_that_was_finished_before_is_known(bench):
    call = await bench.call("say(reply(request_id='old'))", ids=SeenIds(["old"]))
    assert call.fault.kind == "adapter_duplicate_id"


async def test_the_id_of_a_bad_reply_is_taken_too(bench):
    async with bench.open("say(reply(request_id='same', output=None))") as roles:
        assert (await roles.call("judge", SESSION)).fault.kind == "adapter_malformed"
        assert (await roles.call("judge", SESSION)).fault.kind == "adapter_duplicate_id"


@pytest.mark.parametrize("usage", ["'LEFT OUT'", "None", "{}", "{'input_tokens': None}"])
async def test_missing_counts_are_missing_in_a_session_and_a_fault_of_a_judge(bench, usage):
    code = f"say(reply(token_usage={usage}, status='passed', reason='yes'))"
    in_session = (await bench.call(code)).reply.provenance.token_usage
    assert (in_session.input_tokens, in_session.output_tokens) == (None, None)
    assert (await bench.call(code, JUDGE)).fault.kind == "adapter_provenance"


@pytest.mark.parametrize(
    "changes",
    [
        "status='pass', reason='yes'",
        "status=True, reason='yes'",
        "reason='yes'",
        "status='failed'",
        "status='failed', reason=' '",
        "status='failed', reason=['no']",
    ],
)
async def test_a_judge_says_passed_or_failed_and_why(bench, changes):
    assert (await bench.call(f"say(reply({changes}))", JUDGE)).fault.kind == "adapter_malformed"


async def test_a_message_tells_nothing_of_what_the_adapter_said(bench):
    call = await bench.call(
        "say(reply(output=['the gold is 42'], provider='gold too'))\nsys.stderr.write('gold')"
    )
    assert call.fault.kind == "adapter_malformed"
    assert "gold" not in call.fault.message
