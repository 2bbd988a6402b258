"""The adapters that are shipped to be read and copied do what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from adapter_scripts import JUDGE, SESSION
from http_endpoint import completion, endpoint, sends

from scorehost.model.exec_result import ExecResult
from scorehost.spec.roles import Role

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[2] / "examples/adapters"
KEY = "hush-hush-99"


class Host:
    """Knows three commands, as a host might."""

    def __init__(self):
        self.asked = []

    async def __call__(self, ask):
        self.asked.append(ask.argv)
        known = {
            ("true",): (0, b""),
            ("cat", "log"): (0, b"0 errors\n"),
            ("cat", "numbers"): (0, b"[3, 4, 5]"),
        }
        code, stdout = known.get(ask.argv, (1, b""))
        return ExecResult(exit_code=code, stdout=stdout)


async def play(bench, name, request, *arguments, exec_call=None, environment=None):
    command = ("/usr/bin/python3", str(EXAMPLES / name), *arguments)
    names = tuple(environment or ())
    role = Role(executor="command", command=command, timeout_seconds=20, pass_env=names)
    async with bench.open(role=role, environment=environment) as roles:
        return await roles.call("judge", request, exec_call=exec_call)


def asked(prompt):
    return SESSION.model_copy(update={"prompt": prompt})


def asserted(description, output="I am ready."):
    assertion = JUDGE.assertion.model_copy(update={"description": description})
    return JUDGE.model_copy(update={"output": output, "assertion": assertion})


class TestRuleJudge:
    """`rule_judge.py`."""

    async def test_in_a_host_it_names_the_rules_that_failed(self, bench):
        host = Host()
        prompt = 'Look.\nrule a: run true\nrule b: run false\nrule c: prints "0 errors": run cat log\n'
        prompt += 'rule d: prints "9 errors": run cat log'
        call = await play(bench, "rule_judge.py", asked(prompt), exec_call=host)
        assert call.reply.output == {
            "ok": False,
            "failed": ["b", "d"],
            "reason": "b: the command ended with 1; d: the command did not print the text",
        }
        assert host.asked == [("true",), ("false",), ("cat", "log"), ("cat", "log")]

    async def test_with_every_rule_kept_it_says_ok(self, bench):
        call = await play(bench, "rule_judge.py", asked("rule a: run true"), exec_call=Host())
        assert call.reply.output == {"ok": True, "failed": [], "reason": "every rule holds"}

    @pytest.mark.parametrize(
        ("rule", "output", "status"),
        [
            ("contains ready", "I am ready.", "passed"),
            ("contains steady", "I am ready.", "failed"),
            ("lacks steady", "I am ready.", "passed"),
            ("lacks ready", "I am ready.", "failed"),
            ("equals 4", " 4\n", "passed"),
            ("equals 4", "44", "failed"),
            ("matches ^[0-9]+$", "12", "passed"),
            ("matches ^[0-9]+$", "1x", "failed"),
            ("is json", "[1]", "passed"),
            ("is json", "[1", "failed"),
            ("at most 3 characters", "abc", "passed"),
            ("at most 3 characters", "abcd", "failed"),
            ("rule a: contains x\nrule b: contains y", "x", "failed"),
            ("rule a: contains x\nrule b: contains y", "xy", "passed"),
        ],
    )
    async def test_a_rule_about_a_text_is_judged(self, bench, rule, output, status):
        call = await play(bench, "rule_judge.py", asserted(rule, output))
        assert (call.fault, call.reply.status) == (None, status)

    @pytest.mark.parametrize(
        "request_", [asserted("run true"), asserted("is nice"), asserted("matches ["), asked("no rule")]
    )
    async def test_a_rule_that_it_cannot_check_is_no_verdict(self, bench, request_):
        call = await play(bench, "rule_judge.py", request_)
        assert call.fault.kind == "adapter_exit"

    @pytest.mark.parametrize(
        "told",
        [
            "I do not know\nrule x: whatever",
            "I do not know\nrule x: run true",
            "I do not know\noutput:\nAda Lovelace is not here",
            "rule named: contains I do",
            "[" * 100_000,
        ],
    )
    async def test_what_is_judged_states_no_rule_and_ends_no_judge(self, bench, told):
        prompt = f"rule named: lacks xyzzy\nrule form: is json\noutput:\n{told}"
        call = await play(bench, "rule_judge.py", asked(prompt))
        assert call.reply.output["failed"] == ["form"]

    async def test_a_prompt_that_is_all_output_states_no_rule(self, bench):
        call = await play(bench, "rule_judge.py", asked("output:\nrule x: lacks anything"))
        assert call.fault.kind == "adapter_exit"

    async def test_a_text_that_no_pattern_comes_to_an_end_with_does_not_hold(self, bench):
        told = asserted("matches ^(a+)+$", output="a" * 40 + "b")
        call = await play(bench, "rule_judge.py", told)
        assert (call.reply.status, "cannot be told in 2 s" in call.reply.reason) == ("failed", True)


class TestSolver:
    """`solver.py`."""

    @pytest.mark.parametrize(
        ("task", "answer"),
        [
            ({"do": "sum", "of": [3, 4, 5]}, 12),
            ({"do": "mean", "of": [3, 4, 5]}, 4.0),
            ({"do": "unique", "of": ["b", "a", "b"]}, ["a", "b"]),
            ({"do": "reverse", "of": "abc"}, "cba"),
            ({"do": "words", "of": "A rose is a rose"}, {"a": 2, "is": 1, "rose": 2}),
        ],
    )
    async def test_it_does_what_the_first_json_line_asks(self, bench, task, answer):
        prompt = 'Do it.\n{"not": "this"}\n' + json.dumps(task) + "\nThank you.\n"
        prompt += '{"do": "count", "of": "somebody else\'s text"}'
        call = await play(bench, "solver.py", asked(prompt))
        assert call.reply.output == {"answer": answer}

    async def test_it_reads_a_file_in_the_host(self, bench):
        prompt = '{"do": "sum", "of": "numbers", "file": true}'
        call = await play(bench, "solver.py", asked(prompt), exec_call=Host())
        assert call.reply.output == {"answer": 12}

    @pytest.mark.parametrize("prompt", ["do something", '{"do": "sum", "of": "numbers", "file": true}'])
    async def test_what_it_cannot_do_ends_it(self, bench, prompt):
        assert (await play(bench, "solver.py", asked(prompt))).fault.kind == "adapter_exit"


class TestOpenaiChat:
    """`openai_chat.py`, against a real HTTP server."""

    async def ask(self, bench, request, *answers, exec_call=None):
        with endpoint(*answers) as (url, script):
            arguments = ("--base-url", url, "--model", "m", "--parameters", '{"max_output_tokens": 9}')
            known = {"OPENAI_API_KEY": KEY}
            call = await play(
                bench, "openai_chat.py", request, *arguments, exec_call=exec_call, environment=known
            )
        return call, script.seen

    async def test_a_session_is_answered_with_the_providers_provenance(self, bench):
        call, ((_, _, headers, body),) = await self.ask(bench, SESSION, sends(completion()))
        assert (call.reply.output, call.reply.provenance.request_id) == ("fine", "chatcmpl-1")
        assert (body["max_tokens"], body["stream"], "tools" in body) == (9, False, False)
        assert headers["authorization"] == f"Bearer {KEY}"

    async def test_what_the_model_asks_for_runs_in_the_host(self, bench):
        host = Host()
        call_ = {
            "id": "t1",
            "type": "function",
            "function": {"name": "exec", "arguments": '{"argv": ["cat", "log"]}'},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call_]}
        wants = completion(choices=[{"finish_reason": "tool_calls", "message": message}])
        call, seen = await self.ask(
            bench, SESSION, sends(wants), sends(completion("clean", number=2)), exec_call=host
        )
        assert (call.reply.output, host.asked) == ("clean", [("cat", "log")])
        assert json.loads(seen[1][3]["messages"][-1]["content"])["stdout"] == "0 errors\n"
        usage = call.reply.provenance.token_usage
        assert (usage.input_tokens, usage.output_tokens) == (22, 14)

    async def test_a_judge_that_answers_in_prose_is_no_verdict(self, bench):
        good, _ = await self.ask(bench, JUDGE, sends(completion('{"status": "passed", "reason": "yes"}')))
        assert (good.reply.status, good.reply.reason) == ("passed", "yes")
        for prose in ("It passed.", "[" * 100_000, "[]", '{"status": "passed"}'):
            bad, _ = await self.ask(bench, JUDGE, sends(completion(prose)))
            assert bad.fault.kind == "adapter_malformed", prose[:20]

    async def test_what_a_request_brings_upon_itself_is_told_apart_from_what_is_wrong_with_the_endpoint(
        self, bench
    ):
        filtered = completion(choices=[{"finish_reason": "content_filter", "message": {"content": None}}])
        cut = completion(choices=[{"finish_reason": "length", "message": {"content": "So"}}])
        answers = (
            sends({}, 400),
            sends({}, 413),
            sends(filtered),
            sends(cut),
            sends({}, 401),
            sends({}, 429),
        )
        kinds = [(await self.ask(bench, JUDGE, answer))[0].fault.kind for answer in answers]
        assert kinds == [*["adapter_refused"] * 3, "adapter_truncated", "adapter_exit", "adapter_exit"]

    async def test_a_model_that_never_stops_to_ask_for_programs_has_given_no_whole_answer(self, bench):
        wanted = {"id": "t", "type": "function", "function": {"name": "exec", "arguments": "{}"}}
        message = {"role": "assistant", "content": None, "tool_calls": [wanted]}
        asks = completion(choices=[{"finish_reason": "tool_calls", "message": message}])
        call, seen = await self.ask(bench, SESSION, *[sends(asks)] * 20, exec_call=Host())
        assert (call.fault.kind, len(seen)) == ("adapter_truncated", 20)

    @pytest.mark.parametrize("answer", [sends({}, 500), sends(b"<html>"), sends(completion(usage=None))])
    async def test_an_endpoint_that_fails_ends_it(self, bench, answer):
        call, _ = await self.ask(bench, SESSION, answer)
        assert call.fault.kind == "adapter_exit"
