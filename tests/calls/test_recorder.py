"""Calls with no engine, no host and no attempt: budgeted, recorded, masked, told."""

from __future__ import annotations

import json
import subprocess
import sys

import anyio
import pytest

from adapters.adapter_scripts import JUDGE, SESSION
from adapters.http_endpoint import completion, endpoint, sends, waits
from scorehost.adapters.registry import SeenIds
from scorehost.adapters.requests import BehaviorRequest
from scorehost.calls.budget import Budget
from scorehost.calls.recorder import JobCalls
from scorehost.calls.records import disagreements
from scorehost.errors import BudgetSpent, DiskFull
from scorehost.model.call import CallRecord
from scorehost.spec.roles import Role

pytestmark = pytest.mark.anyio
KEY = "hush-hush-99"
SOUND = "say(reply())"


def lines(data):
    return [json.loads(line) for line in data.splitlines()]


def test_calls_load_neither_an_engine_nor_a_host_nor_an_attempt():
    code = """
import sys
from scorehost.calls.recorder import JobCalls
print([name for name in sys.modules
       if name == "docker" or name.startswith(("scorehost.engine", "scorehost.hosts", "scorehost.attempt"))])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"


async def test_an_executors_call_is_kept_with_its_files_its_line_and_its_event(bench, record):
    control = BehaviorRequest(condition="control", prompt="write a report")
    sound = "say(reply(output='done', loaded_plugin_sha256=None, clean_control=True))"
    async with bench.open(sound) as roles:
        calls = JobCalls(roles, Budget(max_calls=1)).recorder(record, record.emit)
        call = await calls.call("judge", control, about={"arm": "control"})
        with pytest.raises(BudgetSpent, match="--max-calls is 1"):
            await calls.call("judge", control)
    calls.close()
    assert (call.fault, call.reply.output) == (None, "done")
    assert sorted(record.files) == [
        "calls/1/call.json",
        "calls/1/request.json",
        "calls/1/tries/1/reply",
        "observation.jsonl",
    ]
    assert CallRecord.model_validate_json(record.files["calls/1/call.json"]) == call.record
    kept = {path.removeprefix("calls/1/"): data for path, data in record.files.items() if "calls/1/" in path}
    assert disagreements(kept) == []
    (line,) = lines(record.files["observation.jsonl"])
    assert (line["role"], line["output"], line["error"]) == ("judge", "done", None)
    ((kind, told),) = record.events
    assert kind == "agent_call"
    assert {name: told[name] for name in ("number", "arm", "role", "mode", "ended")} == {
        "number": 1,
        "arm": "control",
        "role": "judge",
        "mode": "behavior",
        "ended": "reply",
    }
    assert told["request_ids"] == [call.reply.provenance.request_id]
    assert (told["usage"]["calls"], told["usage"]["input_tokens"], told["usage"]["output_tokens"]) == (
        1,
        3,
        5,
    )


async def test_an_endpoints_call_is_kept_in_the_same_form_and_its_key_in_none_of_it(bench, record):
    with endpoint(sends(completion(f"the key is {KEY}"))) as (url, script):
        role = Role(executor="openai", base_url=url, model="some/model", api_key="${MY_KEY}")
        async with bench.open(role=role, environment={"MY_KEY": KEY}) as roles:
            budget = Budget(max_tokens=18)
            calls = JobCalls(roles, budget).recorder(record, record.emit)
            call = await calls.call("judge", SESSION.model_copy(update={"prompt": f"say {KEY}"}))
            with pytest.raises(BudgetSpent, match="--max-tokens is 18, and 18 are spent"):
                await calls.call("judge", SESSION)
        calls.close()
    assert KEY in script.raw[0].decode()
    assert call.reply.output == "the key is [secret]"
    assert KEY.encode() not in b"".join(record.files.values())
    assert KEY not in str(record.events)
    assert (call.record.tries[0].http_status, call.record.request_masked) == (200, True)
    assert (budget.calls, budget.tokens) == (1, 11 + 7)
    assert sorted(record.files) == [
        "calls/1/call.json",
        "calls/1/request.json",
        "calls/1/tries/1/reply",
        "observation.jsonl",
    ]


async def test_a_fault_is_kept_told_and_given_back_and_not_raised(bench, record):
    async with bench.open("say(reply(cache_hit=True))") as roles:
        calls = JobCalls(roles, Budget()).recorder(record, record.emit)
        call = await calls.call("judge", SESSION)
    calls.close()
    assert call.fault.kind == "adapter_cache_hit"
    assert calls.warnings == [f"call 1 of role judge: adapter_cache_hit: {call.fault.message}"]
    ((_, told),) = record.events
    assert (told["ended"], told["invalidates"]) == ("adapter_cache_hit", True)
    assert lines(record.files["observation.jsonl"])[0]["error"].startswith("adapter_cache_hit: ")


async def test_each_folder_counts_its_own_calls(bench, record):
    async with bench.open(SOUND) as roles:
        calls = JobCalls(roles, Budget()).recorder(record, record.emit)
        for folder in ("run", "evaluation", "evaluation"):
            await calls.call("judge", SESSION, folder=folder)
    calls.close()
    assert {path for path in record.files if path.endswith(("call.json", "observation.jsonl"))} == {
        "run/calls/1/call.json",
        "run/observation.jsonl",
        "evaluation/calls/1/call.json",
        "evaluation/calls/2/call.json",
        "evaluation/observation.jsonl",
    }
    assert [len(lines(record.files[f"{name}/observation.jsonl"])) for name in ("run", "evaluation")] == [1, 2]
    assert calls.made == 3


async def test_a_call_that_is_cut_off_is_counted_and_told(bench, record):
    async with bench.open("time.sleep(600)") as roles:
        budget = Budget(max_calls=1)
        calls = JobCalls(roles, budget).recorder(record, record.emit)
        with anyio.move_on_after(0.5) as cut:
            await calls.call("judge", SESSION)
    assert cut.cancelled_caught
    ((_, told),) = record.events
    assert (told["ended"], told["request_ids"], told["usage"]["calls"]) == ("cut off", [], 1)
    assert (budget.calls, calls.made) == (1, 1)
    with pytest.raises(BudgetSpent):
        budget.begin()


async def test_calls_side_by_side_never_pass_the_budget(bench, record):
    refused = []
    async with bench.open(SOUND) as roles:
        calls = JobCalls(roles, Budget(max_calls=3)).recorder(record, record.emit)

        async def one():
            try:
                await calls.call("judge", SESSION)
            except BudgetSpent as error:
                refused.append(error.kind)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)
    assert (calls.made, refused) == (3, ["budget_spent"] * 2)
    assert sorted(fields["number"] for _, fields in record.events) == [1, 2, 3]


async def test_shares_of_two_callers_are_their_own(bench, record):
    async with bench.open(SOUND) as roles:
        job = JobCalls(roles, Budget(max_calls=10))
        mine, other = (
            job.recorder(record, record.emit, share=job.budget.share(max_calls=1)) for _ in range(2)
        )
        await mine.call("judge", SESSION, folder="mine")
        with pytest.raises(BudgetSpent):
            await mine.call("judge", SESSION, folder="mine")
        assert (await other.call("judge", SESSION, folder="other")).fault is None


async def test_a_call_that_may_be_made_once_is_not_tried_again_by_anybody(bench, record):
    with endpoint(sends({"error": "busy"}, 429, Retry_After="0")) as (url, script):
        role = Role(executor="openai", base_url=url, model="m", retries=5)
        async with bench.open(role=role) as roles:
            calls = JobCalls(roles, Budget()).recorder(record, record.emit)
            call = await calls.call("judge", SESSION, once=True)
            assert (call.fault.kind, len(call.record.tries), len(script.seen)) == ("adapter_exit", 1, 1)
            call = await calls.call("judge", SESSION)
            assert len(call.record.tries) == 3 * 6


async def test_a_role_that_is_not_bound_is_missing_and_its_call_is_kept(bench, record):
    async with bench.open(SOUND) as roles:
        calls = JobCalls(roles, Budget()).recorder(record, record.emit)
        call = await calls.call("nobody", JUDGE)
    assert call.fault.kind == "adapter_missing"
    assert "calls/1/call.json" in record.files


async def test_a_judge_that_hangs_is_a_fault_within_its_time(bench, record):
    with endpoint(waits(5)) as (url, _):
        role = Role(executor="openai", base_url=url, model="m", timeout_seconds=1)
        async with bench.open(role=role) as roles:
            call = await JobCalls(roles, Budget()).recorder(record, record.emit).call("judge", JUDGE)
    assert call.fault.kind == "adapter_timeout"


async def test_an_id_that_another_record_of_the_job_had_is_a_replay(bench, record):
    async with bench.open("say(reply(request_id='same'))", ids=SeenIds()) as roles:
        job = JobCalls(roles, Budget())
        await job.recorder(record, record.emit).call("judge", SESSION, folder="one")
        call = await job.recorder(record, record.emit).call("judge", SESSION, folder="two")
    assert call.fault.kind == "adapter_duplicate_id"


async def test_a_disk_that_is_full_stops_the_call_after_its_tokens_were_counted(bench):
    class Full:
        def write(self, _path, _data):
            raise DiskFull("full")

    async with bench.open(SOUND) as roles:
        budget = Budget()
        with pytest.raises(DiskFull):
            await JobCalls(roles, budget).recorder(Full(), lambda *_: None).call("judge", SESSION)
    assert (budget.calls, budget.tokens) == (1, 8)
