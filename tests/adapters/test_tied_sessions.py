"""Sessions tied to a host: execs by JSON lines, and what goes wrong in them."""

from __future__ import annotations

import json
import time

import anyio
import pytest
from adapter_scripts import SESSION

from scorehost.adapters.execs import NotRun
from scorehost.calls.records import observation_lines
from scorehost.model.exec_result import ExecResult

pytestmark = pytest.mark.anyio

ASK = """
request = json.loads(sys.stdin.readline())
def run(*argv, **more):
    say({"exec": {"argv": list(argv), **more}})
    return json.loads(sys.stdin.readline())["exec_result"]
"""


class Host:
    """Answers every exec with its own words, and remembers what was asked."""

    def __init__(self, *, refusal="", **answer):
        self.asked = []
        self.refusal = refusal
        self.answer = answer

    async def __call__(self, ask):
        self.asked.append(ask)
        if self.refusal:
            raise NotRun(self.refusal)
        fields = {"exit_code": 7, "stdout": b"out \xff", "stderr": b"err", "duration_seconds": 0.5}
        return ExecResult(**{**fields, **self.answer})


async def test_execs_go_to_the_host_and_their_results_come_back(bench):
    host = Host()
    code = ASK + "a = run('ls', '-l', stdin='text', timeout=3)\nb = run('id')\n"
    code += "say(reply(output={'a': a, 'b': b, 'tools': request['tools']}))"
    call = await bench.call(code, exec_call=host)
    assert [(ask.argv, ask.stdin, ask.timeout) for ask in host.asked] == [
        (("ls", "-l"), "text", 3.0),
        (("id",), None, None),
    ]
    assert call.reply.output["a"] == {
        "exit_code": 7,
        "stdout": "out �",
        "stderr": "err",
        "truncated": False,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "timed_out": False,
        "oom_killed": False,
        "host_lost": False,
        "reason": "",
        "duration_seconds": 0.5,
        "error": "",
    }
    assert call.reply.output["tools"] == [{"name": "exec"}]


async def test_every_exec_and_the_turn_are_lines_of_the_observation(bench):
    code = ASK + "run('a')\nrun('b')\nsay(reply(output='seen'))"
    call = await bench.call(code, exec_call=Host())
    first, second, turn = observation_lines(call)
    assert [first["output"]["exec"]["argv"], second["output"]["exec"]["argv"]] == [["a"], ["b"]]
    assert (first["request_id"], first["token_usage"]) == (None, None)
    assert (turn["output"], turn["provider"], turn["turn"]) == ("seen", "here", 1)
    assert (
        set(turn)
        == set(first)
        == {
            *(
                "at",
                "role",
                "session_id",
                "turn",
                "prompt_sha256",
                "output",
                "request_id",
                "provider",
                "model",
            ),
            *("token_usage", "duration_seconds", "environment", "error"),
        }
    )
    assert "look at it" not in json.dumps([first, second, turn])


@pytest.mark.parametrize(
    "ask",
    [
        "{'argv': []}",
        "{'argv': 'ls'}",
        "{'argv': ['ls', 5]}",
        "{'argv': ['a\\0b']}",
        "{'argv': ['ls'], 'cwd': '/'}",
        "{'argv': ['ls'], 'stdin': 5}",
        "{'argv': ['ls'], 'timeout': 0}",
        "{'argv': ['ls'], 'timeout': True}",
        "{'argv': ['ls'], 'timeout': '5'}",
        "['ls']",
        "None",
    ],
)
async def test_an_exec_that_is_none_runs_nothing(bench, ask):
    host = Host()
    call = await bench.call(f"say({{'exec': {ask}}})\ntime.sleep(600)", exec_call=host)
    assert (call.fault.kind, host.asked) == ("adapter_malformed", [])


@pytest.mark.parametrize(
    "code",
    [
        "say(reply())\nsay(reply())",
        "say(reply())\nsay({'exec': {'argv': ['ls']}})\nsys.stdin.read()",
        "print('thinking')\nsay(reply())",
        "say({'exec': {'argv': ['ls']}, 'output': 'x'})\nsys.stdin.read()",
        "print(json.dumps(reply(), indent=1))",
        "pass",
    ],
)
async def test_a_conversation_is_lines_of_one_object_and_ends_with_the_reply(bench, code):
    call = await bench.call(code, exec_call=Host())
    assert call.fault.kind == "adapter_malformed"


async def test_the_last_line_needs_no_line_end_and_empty_lines_are_nothing(bench):
    call = await bench.call("print('\\n\\n' + json.dumps(reply()), end='')", exec_call=Host())
    assert call.fault is None


async def test_an_adapter_that_never_answers_after_an_exec_runs_into_its_limit(bench):
    call = await bench.call(ASK + "run('ls')\ntime.sleep(600)", exec_call=Host(), timeout_seconds=1)
    assert call.fault.kind == "adapter_timeout"
    assert len(call.record.tries[0].execs) == 1


async def test_an_exec_that_hangs_counts_to_the_calls_limit(bench):
    async def hang(_ask):
        await anyio.sleep(600)

    began = time.monotonic()
    call = await bench.call(ASK + "run('ls')", exec_call=hang, timeout_seconds=1)
    assert (call.fault.kind, time.monotonic() - began < 6) == ("adapter_timeout", True)


async def test_what_the_host_raises_comes_out_as_it_is(bench):
    async def gone(_ask):
        raise LookupError("the engine is gone")

    with pytest.raises(LookupError, match="the engine is gone"):
        await bench.call(ASK + "run('ls')", exec_call=gone)


async def test_a_refused_exec_is_told_to_the_adapter(bench):
    host = Host(refusal="2000 execs were made already")
    call = await bench.call(ASK + "say(reply(output=run('ls')['error']))", exec_call=host)
    assert call.reply.output == "2000 execs were made already"


async def test_a_secret_never_goes_into_a_host(bench):
    host = Host()
    code = ASK + "run('curl', '-H', 'Key: ' + os.environ['MY_KEY'])\nsay(reply())"
    call = await bench.call(
        code, exec_call=host, pass_env=("MY_KEY",), environment={"MY_KEY": "hush-hush-99"}
    )
    assert (call.fault.kind, host.asked) == ("adapter_malformed", [])


async def test_a_try_that_worked_in_the_host_is_not_done_again(bench):
    host = Host()
    call = await bench.call(ASK + "run('ls')\nsys.exit(3)", exec_call=host, retries=3)
    assert (call.fault.kind, len(call.record.tries), len(host.asked)) == ("adapter_exit", 1, 1)


async def test_a_line_without_end_overflows(bench):
    call = await bench.call("while True: os.write(1, b'x' * 65536)", exec_call=Host())
    assert call.fault.kind == "adapter_overflow"


async def test_an_adapter_that_reads_nothing_of_a_long_request_may_answer(bench):
    long = SESSION.model_copy(update={"prompt": "x" * 3_000_000})
    assert (await bench.call("say(reply())", long, exec_call=Host())).fault is None
