"""Retries, pace, secrets, and the record that is kept of a call."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote

import anyio
import pytest
from adapter_scripts import SESSION

from scorehost.calls.records import call_files, disagreements
from scorehost.errors import UsageError
from scorehost.model.call import CallRecord, usage_by_role

pytestmark = pytest.mark.anyio

KEY = "k3y/with+odd=signs?&x"
SECOND = """
from pathlib import Path
count = Path({place!r})
tried = int(count.read_text()) if count.exists() else 0
count.write_text(str(tried + 1))
"""


def counting(tmp_path):
    return SECOND.format(place=str(tmp_path / "count"))


async def test_infrastructure_faults_are_tried_again_and_each_try_is_recorded(bench, tmp_path):
    code = counting(tmp_path) + "if tried < 2: sys.exit(3)\nsay(reply())"
    call = await bench.call(code, retries=3)
    assert call.fault is None
    assert [each.fault and each.fault.kind for each in call.record.tries] == [
        "adapter_exit",
        "adapter_exit",
        None,
    ]
    assert [each.exit_code for each in call.record.tries] == [3, 3, 0]
    assert [each.number for each in call.record.tries] == [1, 2, 3]


async def test_retries_are_as_many_as_the_role_says(bench):
    assert len((await bench.call("sys.exit(3)", retries=1)).record.tries) == 2
    assert len((await bench.call("sys.exit(3)")).record.tries) == 1


async def test_a_cache_hit_and_a_repeated_id_are_not_tried_again(bench):
    assert len((await bench.call("say(reply(cache_hit=True))", retries=3)).record.tries) == 1
    call = await bench.call("say(reply(request_id='x', output=None))", retries=3)
    assert [each.fault.kind for each in call.record.tries] == ["adapter_malformed", "adapter_duplicate_id"]


async def test_no_more_calls_run_at_a_time_than_the_role_allows(bench, tmp_path):
    code = f"""
import fcntl
lock = open({str(tmp_path / "lock")!r}, "w")
try: fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError: sys.exit(9)
time.sleep(0.3)
say(reply())
"""
    role = bench.role(code, max_concurrent=1)
    calls = []

    async def one(roles):
        calls.append(await roles.call("judge", SESSION))

    async with bench.open(role=role) as roles, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(one, roles)
    assert [call.fault for call in calls] == [None, None, None]
    assert max(call.record.tries[0].waited_seconds for call in calls) >= 0.6


async def test_calls_begin_no_faster_than_requests_per_minute(bench):
    async with bench.open(role=bench.role("say(reply())", requests_per_minute=120)) as roles:
        began = time.monotonic()
        for _ in range(3):
            await roles.call("judge", SESSION)
    assert time.monotonic() - began >= 1.0  # two gaps of half a second


async def test_an_unset_variable_is_an_error_before_anything_starts(bench, tmp_path):
    role = bench.role(f"open({str(tmp_path / 'ran')!r}, 'w')", pass_env=("NO_SUCH_KEY", "NOR_THIS"))
    with pytest.raises(UsageError, match=r"NO_SUCH_KEY \(role judge\), NOR_THIS \(role judge\)"):
        async with bench.open(role=role):
            pass
    assert not (tmp_path / "ran").exists()


FORMS = [
    KEY,
    quote(KEY, safe=""),
    quote(KEY),
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(b"user:" + KEY.encode()).decode(),
    base64.urlsafe_b64encode(b"x" + KEY.encode()).decode(),
    json.dumps(KEY).replace("/", "\\/"),
]


def shows(data):
    """Whether some form of the key can be found in `data`, as a person would search for it."""
    return any(form.encode().strip(b'"=')[3:-3] in data for form in FORMS)


async def test_a_secret_is_in_nothing_that_is_kept_in_no_form(bench):
    code = f"""
forms = {FORMS!r}
for form in forms:
    for place in range(0, len(form), 5):  # in pieces: a form lies across the edges of what is read
        os.write(2, form[place:place + 5].encode()); time.sleep(0.002)
    os.write(2, b"\\n")
say(reply(output=" ".join(forms), served_model=os.environ["MY_KEY"]))
"""
    call = await bench.call(code, pass_env=("MY_KEY",), environment={"MY_KEY": KEY})
    assert call.fault is None
    kept = b"\n".join(call_files(call, "evaluation/calls/1").values())
    assert not shows(kept)
    assert not shows(call.reply.model_dump_json().encode())
    assert b"[secret]" in call.outcomes[0].stderr_data
    assert call.record.tries[0].reply_masked


async def test_a_secret_in_odd_escapes_is_not_kept_either(bench):
    code = """
escaped = "".join("\\\\u%04x" % ord(sign) for sign in os.environ["MY_KEY"])
print(json.dumps(reply(output="@")).replace("@", escaped))
"""
    call = await bench.call(code, pass_env=("MY_KEY",), environment={"MY_KEY": "plainletters"})
    assert call.reply.output == "[secret]"
    (kept,) = [data for path, data in call_files(call, "c").items() if path.endswith("reply")]
    assert json.loads(kept)["output"] == "[secret]"


async def test_a_secret_in_a_prompt_is_not_kept(bench):
    request = SESSION.model_copy(update={"prompt": f"use {KEY} please"})
    call = await bench.call("say(reply())", request, pass_env=("MY_KEY",), environment={"MY_KEY": KEY})
    assert not shows(call.request)
    assert call.record.request_masked


async def test_the_record_of_a_call_is_whole_and_read_back(bench):
    call = await bench.call("sys.stderr.write('thinking')\nsay(reply())")
    files = call_files(call, "evaluation/calls/4")
    assert sorted(files) == [
        "evaluation/calls/4/call.json",
        "evaluation/calls/4/request.json",
        "evaluation/calls/4/tries/1/reply",
        "evaluation/calls/4/tries/1/stderr.log",
    ]
    assert files["evaluation/calls/4/tries/1/stderr.log"] == b"thinking"
    assert json.loads(files["evaluation/calls/4/tries/1/reply"])["output"] == "fine"
    assert CallRecord.model_validate_json(files["evaluation/calls/4/call.json"]) == call.record


def named(call):
    return {path.removeprefix("c/"): data for path, data in call_files(call, "c").items()}


async def test_an_edited_request_or_reply_disagrees_with_the_record(bench):
    call = await bench.call("say(reply())")
    assert disagreements(named(call)) == []
    for path in ("request.json", "tries/1/reply"):
        files = named(call)
        files[path] = files[path].replace(b"o", b"0", 1)
        (told,) = disagreements(files)
        assert told.startswith(path)
        del files[path]
        assert disagreements(files) != []


async def test_records_of_faults_and_of_masked_calls_agree_with_themselves(bench):
    for code in ("print('x' * 9_000_000)", "sys.exit(3)", "pass", "say(reply(output=os.environ['MY_KEY']))"):
        call = await bench.call(code, pass_env=("MY_KEY",), environment={"MY_KEY": KEY})
        assert disagreements(named(call)) == []


async def test_a_long_log_is_cut_in_the_middle_and_says_so(bench):
    code = "sys.stderr.write('first' + 'x' * 3_000_000 + 'last')\nsay(reply())"
    log = (await bench.call(code)).outcomes[0].stderr_data
    assert log.startswith(b"first")
    assert log.endswith(b"last")
    # 3,000,009 bytes were printed, and 1,048,576 are kept.
    assert b"\n[1951433 bytes are left out here]\n" in log


async def test_usage_is_summed_by_role_and_missing_counts_are_not_zero(bench, tmp_path):
    code = counting(tmp_path) + "say(reply(token_usage=None) if tried else reply(cached_input_tokens=2))"
    async with bench.open(code) as roles:
        calls = [await roles.call("judge", SESSION) for _ in range(3)]
    usage = usage_by_role(call.record for call in calls)["judge"]
    assert (usage.calls, usage.tries, usage.missing_counts) == (3, 3, 2)
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (3, 5, 2)
