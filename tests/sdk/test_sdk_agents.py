"""Agents in an evaluator: sessions plain and awaited, what a reply reads like, and what a fault becomes."""

import json

import pytest
from scripted import evaluate

from scorehost.model.failure import KINDS, Blame
from scorehost_sdk.faults import AGENT_KINDS, ReplyError
from scorehost_sdk.replies import Reply, TokenUsage

HEAD = {
    "plain": "def evaluate(inputs):\n",
    "async": "async def evaluate(inputs):\n",
}


def source(flavour, body):
    """`body` in an evaluator of a flavour: `AWAIT` and `WITH` stand for what the flavour writes."""
    words = {"plain": ("", "with"), "async": ("await ", "async with")}[flavour]
    text = body.replace("AWAIT ", words[0]).replace("WITH", words[1])
    return HEAD[flavour] + "".join(f"    {line}\n" for line in text.strip().splitlines())


def answers(output='{"ok": true}', **judged):
    """A controller that gives each turn this output."""

    def answer(frame):
        counts = {"request_id": f"r{frame.id}", "input_tokens": 3, "output_tokens": None}
        return {
            "session": lambda: {"session": frame.id},
            "invoke": lambda: {"output": output, **counts},
            "judge": lambda: {**judged, **counts},
            "close_session": lambda: None,
        }[frame.kind]()

    return answer


TALK = """
WITH inputs["agent"].session("judge", environment="box") as session:
    reply = AWAIT session.invoke("is it so?")
got = {"ok": reply.flag("ok"), "get": reply.get("ok"), "item": reply["ok"], "in": "ok" in reply,
       "not": "no" in reply, "text": reply.text, "id": reply.request_id, "used": list(reply.token_usage),
       "roles": list(inputs["agent"].roles)}
return {"status": "PASS", "metrics": got}
"""


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_session_is_opened_asked_and_closed(tmp_path, flavour):
    outcome = evaluate(tmp_path, source(flavour, TALK), answer=answers(), roles=("judge",))
    assert outcome.value["metrics"] == {
        "ok": True,
        "get": True,
        "item": True,
        "in": True,
        "not": False,
        "text": '{"ok": true}',
        "id": "r2",
        "used": [3, None],
        "roles": ["judge"],
    }
    opened, asked, closed = outcome.requests
    assert (opened.kind, opened.role, opened.environment) == ("session", "judge", "box")
    assert (asked.kind, asked.session, asked.prompt) == ("invoke", 1, "is it so?")
    assert (closed.kind, closed.session) == ("close_session", 1)


JUDGED = """
WITH inputs["agent"].session("judge", environment=None) as session:
    found = AWAIT session.judge(case_id="c", prompt="p", output="o",
                                assertion={"id": "a", "description": "d"})
status = "PASS" if found.passed else "FAIL"
return {"status": status, "metrics": {"why": found.reason, "id": found.request_id}}
"""


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_judgement_says_its_status_and_reason(tmp_path, flavour):
    judge = answers(status="failed", reason="it is not so")
    outcome = evaluate(tmp_path, source(flavour, JUDGED), answer=judge, roles=("judge",))
    assert outcome.value == {"status": "FAIL", "metrics": {"why": "it is not so", "id": "r2"}}
    asked = outcome.requests[1]
    assert (asked.case_id, asked.prompt, asked.output) == ("c", "p", "o")
    assert asked.assertion == {"id": "a", "description": "d"}


def test_without_roles_there_is_no_agent(tmp_path):
    body = 'return {"status": "PASS", "metrics": {"agent": "agent" in inputs}}'
    assert evaluate(tmp_path, source("plain", body)).value["metrics"] == {"agent": False}


def failing(kind):
    def answer(frame):
        if frame.kind == "invoke":
            return ("AdapterFault", "the judge did not answer", kind)
        return answers()(frame)

    return answer


@pytest.mark.parametrize("flavour", ["plain", "async"])
@pytest.mark.parametrize("kind", ["adapter_timeout", "adapter_duplicate_id"])
def test_a_fault_that_is_not_caught_is_told_by_its_kind_and_the_session_is_closed(tmp_path, kind, flavour):
    outcome = evaluate(tmp_path, source(flavour, TALK), answer=failing(kind), roles=("judge",))
    assert outcome.error.kind == kind
    assert outcome.error.message == (
        f"the evaluator did not catch that a call of an agent failed ({kind}): AdapterFault at evaluator.py:3"
    )
    assert outcome.requests[-1].kind == "close_session"


def test_a_fault_that_is_caught_says_its_kind_and_the_verdict_stands(tmp_path):
    body = """
from ageval_sdk import AdapterFault
try:
    with inputs["agent"].session("judge", environment=None) as session:
        session.invoke("?")
except AdapterFault as fault:
    return {"status": "FAIL", "metrics": {"kind": fault.kind, "text": str(fault)}}
"""
    outcome = evaluate(tmp_path, source("plain", body), answer=failing("adapter_exit"), roles=("judge",))
    assert outcome.value["metrics"] == {"kind": "adapter_exit", "text": "the judge did not answer"}


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (("UnknownRole", "no such role"), "evaluator_exception"),
        (("UnknownEnvironment", "no such host"), "unknown_environment"),
        (("LimitReached", "limits.agent_invocations"), "evaluator_exception"),
        (("LimitReached", "the job has no calls left", "budget_spent"), "budget_spent"),
        (("ScoringError", "box is in use"), "evaluator_exception"),
    ],
)
def test_what_the_controller_refuses_raises(tmp_path, refusal, kind):
    outcome = evaluate(tmp_path, source("plain", TALK), answer=lambda _: refusal, roles=("judge",))
    assert outcome.error.kind == kind
    assert refusal[0] in outcome.error.message


def test_a_fault_of_an_evaluators_own_making_is_no_adapters(tmp_path):
    body = "from scorehost_sdk import AdapterFault\nraise AdapterFault('x', 'any_kind')"
    outcome = evaluate(tmp_path, source("plain", body), roles=("judge",))
    assert outcome.error.kind == "evaluator_exception"


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("inputs['agent'].session('judge', environment=None).invoke('x')", "ScoringError"),
        ("with inputs['agent'].session('judge', environment=None) as s:\n    s.invoke(7)", "TypeError"),
        (
            "with inputs['agent'].session('judge', environment=None) as s:\n    s.invoke('x', model='m')",
            "TypeError",
        ),
        (
            "with inputs['agent'].session('judge', environment=None) as s:\n    s.invoke('\\ud800')",
            "ValueError",
        ),
        (
            "with inputs['agent'].session('judge', environment=None) as s:\n    s.invoke('x' * 4194305)",
            "LimitReached",
        ),
    ],
)
def test_a_call_that_cannot_be_is_refused_where_it_is_made(tmp_path, body, name):
    outcome = evaluate(tmp_path, source("plain", body), answer=answers(), roles=("judge",))
    assert name in outcome.error.message
    assert all(frame.kind != "invoke" for frame in outcome.requests)


def reply(output):
    return Reply(output, "r", TokenUsage(1, 1))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("sure: {}", "no JSON"),
        ('{"ok": true} {"ok": false}', "no JSON"),
        ("```json\n{}\n```", "no JSON"),
        ("[1]", "no object"),
        ('{"ok": true, "ok": false}', "'ok' stands twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' stands twice"),
        ('{"score": NaN}', "NaN is no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_reply_that_is_not_one_object_is_never_read_as_one(text, why):
    with pytest.raises(ReplyError, match=why):
        reply(text).json()
    with pytest.raises(ReplyError):
        reply(text).get("ok")


READ = """
WITH inputs["agent"].session("judge", environment=None) as session:
    reply = AWAIT session.invoke("is it so?")
    return {"status": "PASS" if reply.flag("ok") else "FAIL"}
"""


@pytest.mark.parametrize("flavour", ["plain", "async"])
@pytest.mark.parametrize("garbage", ["[ERROR] 503", '{"ok": true, "ok": false}', "[1]"])
def test_garbage_in_a_session_is_the_adapters_fault_as_it_is_of_a_judge(tmp_path, garbage, flavour):
    outcome = evaluate(tmp_path, source(flavour, READ), answer=answers(output=garbage), roles=("judge",))
    assert outcome.error.kind == "adapter_malformed"
    assert garbage not in outcome.error.message


def test_a_sound_reply_that_lacks_what_the_evaluator_asks_for_is_the_datasets_to_mend(tmp_path):
    outcome = evaluate(tmp_path, source("plain", READ), answer=answers(output="{}"), roles=("judge",))
    assert outcome.error.kind == "evaluator_exception"


@pytest.mark.parametrize("value", ["false", "true", 1, 0, None, [], {}])
def test_a_flag_is_a_boolean_and_nothing_else(value):
    with pytest.raises(ReplyError, match="no boolean"):
        reply(json.dumps({"ok": value})).flag("ok")


def test_a_flag_that_is_missing_is_an_error_and_one_that_is_there_is_read():
    with pytest.raises(ReplyError, match="ok of the reply is missing"):
        reply("{}").flag("ok")
    assert reply('{"ok": false}').flag("ok") is False
    assert reply('{"ok": true}').flag("ok") is True


def test_a_reply_that_is_an_object_has_its_json_as_text():
    one = reply({"ok": True, "word": "ä"})
    assert (one.text, one.json(), sorted(one)) == (
        '{"ok": true, "word": "ä"}',
        {"ok": True, "word": "ä"},
        ["ok", "word"],
    )


def test_there_being_a_reply_says_nothing_of_what_it_says():
    assert bool(reply('{"ok": false}'))
    assert bool(reply(""))


def test_the_kinds_of_a_call_are_those_that_the_controller_knows():
    declared = {kind for kind, facts in KINDS.items() if facts.blame is Blame.ADAPTER}
    assert set(AGENT_KINDS) == declared | {"budget_spent", "share_spent"}


@pytest.mark.parametrize("flavour", ["plain", "async"])
def test_a_session_of_a_task_with_named_environments_says_where_it_works(tmp_path, flavour):
    body = 'WITH inputs["agent"].session("judge") as session:\n    pass\nreturn {"status": "PASS"}'
    outcome = evaluate(tmp_path, source(flavour, body), answer=answers(), roles=("judge",))
    assert (outcome.error.kind, outcome.requests) == ("unknown_environment", [])
    alone = evaluate(
        tmp_path / "alone", source(flavour, body), answer=answers(), roles=("judge",), environments=()
    )
    assert alone.value["status"] == "PASS"
    assert [frame.environment for frame in alone.requests if frame.kind == "session"] == [None]


LAYOUT = """
from ageval_sdk import Agent
async def evaluate(inputs):
    async with Agent(attempt_id="a").session("judge") as session:
        reply = await session.invoke("is it so?")
    found = READ
    return {"status": "PASS", "metrics": {"ok": reply.get("ok"), "text": reply["text"]}}
"""


@pytest.mark.parametrize(
    ("read", "misread"),
    [
        ('reply["text"]', False),  # prose that is read as prose is what was asked for
        ('reply["structured"]', True),
        ('(reply.get("structured") or {}).get("ok", True)', True),
    ],
)
def test_in_the_ageval_layout_a_reply_is_misread_only_where_its_object_is_asked_for(tmp_path, read, misread):
    outcome = evaluate(
        tmp_path, LAYOUT.replace("READ", read), answer=answers(output="It is so."), roles=("judge",)
    )
    assert outcome.value["status"] == "PASS"
    assert outcome.last.misread is misread
