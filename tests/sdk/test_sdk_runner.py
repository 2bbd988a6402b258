"""The runner as a process: evaluators of every kind, and what the controller hears of them."""

import time

import pytest
from scripted import UNANSWERED, ended, evaluate, plain

from scorehost.hosts.frames import Check
from scorehost_sdk import check


def test_a_plain_evaluator_execs_and_returns(tmp_path):
    source = plain("""
result = scoring.exec("box", ["sort", "-u"], stdin="b\\na\\n", env={"A": "1"}, workdir="/tmp", timeout=2)
metrics = {"out": result.stdout, "ok": result.ok, "n": inputs["parameters"]["n"]}
return {"status": "PASS", "score": 0.5, "metrics": metrics}
""")
    outcome = evaluate(tmp_path, source, answer=lambda _: ended(stdout=b"a\xff"))
    assert outcome.value == {
        "status": "PASS",
        "score": 0.5,
        "metrics": {"out": "a�", "ok": True, "n": 1},
    }
    (sent,) = outcome.requests
    assert (sent.argv, sent.stdin, sent.env) == (("sort", "-u"), b"b\na\n", {"A": "1"})
    assert (sent.workdir, sent.timeout) == ("/tmp", 2.0)
    assert outcome.exit_code == 0


def test_an_async_evaluator_awaits_several_at_once_whatever_the_order_of_replies(tmp_path):
    source = """
import asyncio
async def evaluate(inputs):
    scoring = inputs["scoring"]
    results = await asyncio.gather(*(scoring.exec("box", ["echo", str(n)]) for n in range(5)))
    return {"status": "PASS", "metrics": {"seen": [result.stdout for result in results]}}
"""
    outcome = evaluate(
        tmp_path, source, answer=lambda frame: ended(stdout=frame.argv[1].encode()), answered_late=5
    )
    assert outcome.value["metrics"] == {"seen": ["0", "1", "2", "3", "4"]}


def test_threads_of_a_plain_evaluator_share_the_channel(tmp_path):
    source = """
from concurrent.futures import ThreadPoolExecutor
def evaluate(inputs):
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda n: inputs["scoring"].exec("box", ["echo", str(n)]).stdout, range(50)))
    return {"status": "PASS", "metrics": {"right": seen == [str(n) for n in range(50)]}}
"""
    outcome = evaluate(tmp_path, source, answer=lambda frame: ended(stdout=frame.argv[1].encode()))
    assert outcome.value["metrics"] == {"right": True}


def test_stdin_beyond_one_part_arrives_whole(tmp_path):
    source = plain("""
data = bytes(range(256)) * 40_000
scoring.exec("box", ["cat"], stdin=data)
return {"status": "PASS"}
""")
    outcome = evaluate(tmp_path, source, answer=lambda _: ended())
    assert outcome.requests[0].stdin == bytes(range(256)) * 40_000


def test_both_package_names_and_shared_modules_import(tmp_path):
    outcome = evaluate(
        tmp_path,
        "raise SystemExit",
        entrypoint="shared.exact:evaluate",
        shared__exact=(
            "import scorehost_sdk, ageval_sdk\n"
            "def evaluate(inputs):\n"
            "    names = set(scorehost_sdk.__all__) - {'Agent'}\n"  # in that layout it takes an attempt's id
            "    same = all(getattr(scorehost_sdk, name) is getattr(ageval_sdk, name) for name in names)\n"
            "    same = same and names < set(ageval_sdk.__all__)\n"
            "    same = same and all(hasattr(ageval_sdk, name) for name in ageval_sdk.__all__)\n"
            "    return {'status': 'PASS', 'metrics': {'same': same}}\n"
        ),
    )
    assert outcome.value["metrics"] == {"same": True}


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""], ids=["BOM", "no BOM"])
def test_an_evaluator_with_crlf_runs(tmp_path, start):
    source = start + b'def evaluate(inputs):\r\n    return {"status": "PASS"}\r\n'
    assert evaluate(tmp_path, source).value == {"status": "PASS"}


@pytest.mark.parametrize(
    ("body", "kind", "name", "line"),
    [
        ('raise ValueError("the gold is 42")', "evaluator_exception", "ValueError", 4),
        ("def inner():\n    1/0\ninner()", "evaluator_exception", "ZeroDivisionError", 5),
        ("import json\njson.loads('{')", "evaluator_exception", "json.JSONDecodeError", 5),
        ("class Own(Exception): pass\nraise Own", "evaluator_exception", "Own", 5),
        ("class Own(BaseException): pass\nraise Own", "evaluator_exception", "Own", 5),
        ("sys.exit()", "evaluator_exit", "SystemExit", 4),
        ("raise KeyboardInterrupt", "evaluator_exit", "KeyboardInterrupt", 4),
        ("raise MemoryError", "evaluator_oom", "MemoryError", 4),
        ("bytearray(1 << 62)", "evaluator_oom", "MemoryError", 4),
        ("import errno\nraise OSError(errno.ENOSPC, 'full')", "scratch_full", "OSError", 5),
        ("import errno\nraise OSError(errno.EIO, 'broken')", "evaluator_exception", "OSError", 5),
        ("import ageval_sdk\nraise ageval_sdk.SubmissionFault", "submission_fault", "SubmissionFault", 5),
        ("e = ValueError()\ne.raised_by_submission = True\nraise e", "submission_fault", "ValueError", 6),
        ("scoring.exec('nosuch', ['true'])", "unknown_environment", "UnknownEnvironment", 4),
        ("scoring.exec(None, ['true'])", "unknown_environment", "UnknownEnvironment", 4),
        ("scoring.open('nosuch', ['true'])", "unknown_environment", "UnknownEnvironment", 4),
        ("scoring.reset('nosuch')", "unknown_environment", "UnknownEnvironment", 4),
        ("def f(): f()\nf()", "evaluator_exception", "RecursionError", 4),
    ],
)  # fmt: skip
def test_an_exception_is_told_by_type_and_place_only(tmp_path, body, kind, name, line):
    outcome = evaluate(tmp_path, plain(body))
    error = outcome.error
    assert (error.kind, error.type, error.place) == (kind, name, f"evaluator.py:{line}")
    assert error.place in error.message
    assert "gold" not in error.message
    assert outcome.requests == []
    assert b"Traceback" in outcome.log
    assert outcome.exit_code == 0


def test_the_traceback_in_the_log_starts_with_the_evaluators_own_frame(tmp_path):
    outcome = evaluate(tmp_path, plain('raise ValueError("the gold is 42")'))
    first = outcome.log.decode().splitlines()[1]
    assert first.endswith('task/evaluator.py", line 4, in evaluate')
    assert b"the gold is 42" in outcome.log


def test_an_exception_that_refuses_to_be_printed_is_told_too(tmp_path):
    body = "class Own(Exception):\n    def __str__(self): os._exit(0) if False else sys.exit(1)\nraise Own"
    assert evaluate(tmp_path, plain(body)).error.type == "Own"


def test_a_task_groups_only_exception_is_the_one_that_counts(tmp_path):
    source = """
import asyncio
from scorehost_sdk import SubmissionFault
async def fail():
    raise SubmissionFault("x")
async def evaluate(inputs):
    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
"""
    assert evaluate(tmp_path, source).error.kind == "submission_fault"


@pytest.mark.parametrize(
    ("source", "name", "place"),
    [
        ("def evaluate(:\n", "SyntaxError", "evaluator.py:1"),
        ("import nosuch\n", "ModuleNotFoundError", "evaluator.py:1"),
        ("x = 1\n", "AttributeError", ""),
        (b"def evaluate(i):\n    return '\xff'\n", "SyntaxError", None),
    ],
)
def test_an_evaluator_that_cannot_be_loaded_is_told(tmp_path, source, name, place):
    error = evaluate(tmp_path, source).error
    assert (error.kind, error.type) == ("evaluator_exception", name)
    assert place is None or error.place == place


@pytest.mark.parametrize(
    "body", ["os._exit(0)", "os.kill(os.getpid(), 9)", "import ctypes; ctypes.string_at(0)"]
)
def test_an_evaluator_that_ends_its_process_leaves_no_result(tmp_path, body):
    outcome = evaluate(tmp_path, plain(body))
    assert outcome.hello is not None
    assert outcome.last is None
    assert outcome.violation is None


def test_a_segmentation_fault_shows_its_line_in_the_log(tmp_path):
    outcome = evaluate(tmp_path, plain("import ctypes; ctypes.string_at(0)"))
    assert b"Segmentation fault" in outcome.log
    assert b"line 4 in evaluate" in outcome.log


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        ("UnknownEnvironment", "unknown_environment"),
        ("HostLost", "evaluator_exception"),
        ("LimitReached", "evaluator_exception"),
        ("ScoringError", "evaluator_exception"),
    ],
)
def test_what_the_controller_refuses_is_raised_in_the_evaluator(tmp_path, refusal, kind):
    source = plain(
        f"import scorehost_sdk\ntry:\n    scoring.reset('box')\n"
        f"except scorehost_sdk.{refusal} as error:\n    print(error)\n    raise"
    )
    outcome = evaluate(tmp_path, source, answer=lambda _: (refusal, "because of that"))
    assert (outcome.error.kind, outcome.error.type) == (kind, refusal)
    assert b"because of that\n" in outcome.log


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("scoring.exec('box', 'ls -l')", "TypeError"),
        ("scoring.exec('box', [])", "ValueError"),
        ("scoring.exec('box', ['a\\0'])", "ValueError"),
        ("scoring.exec('box', ['\\udcff'])", "ValueError"),
        ("scoring.exec('box', [1])", "TypeError"),
        ("scoring.exec('box', ['a'], timeout=-1)", "ValueError"),
        ("scoring.exec('box', ['a'], timeout=float('nan'))", "ValueError"),
        ("scoring.exec('box', ['a'], timeout=True)", "ValueError"),
        ("scoring.exec('box', ['a' * 70_000])", "LimitReached"),
        ("scoring.exec('box', ['a'], stdin=bytes(65 << 20))", "LimitReached"),
    ],
)
def test_a_request_that_would_break_the_channel_raises_before_it_is_sent(tmp_path, body, raised):
    outcome = evaluate(tmp_path, plain(body))
    assert outcome.error.type == raised
    assert (outcome.requests, outcome.violation) == ([], None)


def test_an_open_process_is_talked_to_and_closed(tmp_path):
    source = plain("""
with scoring.open("box", ["bc"]) as process:
    process.send("1+1\\n")
    lines = [process.read_line(1), process.read_line(1), process.read_line(1), process.read_line(1)]
    process.close_stdin()
    end = process.wait(3)
metrics = {"lines": lines, "rest": end.stdout, "code": end.exit_code, "err": process.stderr}
return {"status": "PASS", "metrics": metrics}
""")
    pieces = iter([(b"on", b"", False), (b"e\ntwo\nthr", b"warn", False), (b"ee", b"", True)])

    def answer(frame):
        if frame.kind == "open":
            return {"process": 9}
        if frame.kind == "receive":
            stdout, stderr, over = next(pieces)
            return {"stdout": stdout, "stderr": stderr, "ended": over}
        return ended(3, b"rest") if frame.kind == "wait" else None

    outcome = evaluate(tmp_path, source, answer=answer)
    assert outcome.value["metrics"] == {
        "lines": ["one\n", "two\n", "three", ""],
        "rest": "rest",
        "code": 3,
        "err": "warn",
    }
    kinds = [frame.kind for frame in outcome.requests]
    assert kinds == ["open", "send", "receive", "receive", "receive", "close_stdin", "wait", "close"]
    assert {frame.process for frame in outcome.requests[1:]} == {9}


def test_an_async_evaluator_opens_with_async_with(tmp_path):
    source = """
async def evaluate(inputs):
    async with inputs["scoring"].open("box", ["cat"]) as process:
        await process.send(b"x")
        data = await process.receive(1)
    await inputs["scoring"].write_file("box", "/tmp/a", "text")
    content = await inputs["scoring"].read_file("box", "/tmp/a")
    inputs["scoring"].log("a line")
    return {"status": "PASS", "metrics": {"data": data.decode(), "content": content.decode()}}
"""
    replies = {
        "open": {"process": 1},
        "receive": {"stdout": b"x", "stderr": b"", "ended": False},
        "read_file": {"data": b"text", "ended": True},
    }
    outcome = evaluate(tmp_path, source, answer=lambda frame: replies.get(frame.kind))
    assert outcome.value["metrics"] == {"data": "x", "content": "text"}
    assert [frame.kind for frame in outcome.requests] == [
        "open",
        "send",
        "receive",
        "close",
        "write_file",
        "read_file",
        "log",
    ]


def test_a_silent_process_is_a_timeout_even_when_it_floods_stderr(tmp_path):
    source = plain("""
process = scoring.open("box", ["yes"])
try:
    process.receive(0.2)
except TimeoutError:
    return {"status": "PASS"}
""")

    def answer(frame):
        return {"process": 1} if frame.kind == "open" else {"stdout": b"", "stderr": b"y\n", "ended": False}

    assert evaluate(tmp_path, source, answer=answer, seconds=10).value == {"status": "PASS"}


def test_files_travel_in_parts(tmp_path):
    source = plain("""
scoring.write_file("box", "/tmp/a", bytes(9_000_000))
data = scoring.read_file("box", "/tmp/a")
return {"status": "PASS", "metrics": {"n": len(data)}}
""")
    stored = bytearray()

    def answer(frame):
        if frame.kind == "write_file":
            stored.extend(frame.data)
            return None
        part = bytes(stored[frame.offset : frame.offset + 4_000_000])
        return {"data": part, "ended": frame.offset + len(part) == len(stored)}

    outcome = evaluate(tmp_path, source, answer=answer)
    assert outcome.value["metrics"] == {"n": 9_000_000}
    assert [frame.more for frame in outcome.requests[:3]] == [True, True, False]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_evaluator_is_told_which_hosts_hold_gold_and_calls_no_untrusted_code_there(tmp_path, kind):
    source = f"""
from scorehost_sdk import ScoringError, untrusted
{kind} evaluate(inputs):
    untrusted(inputs["scoring"], "box", "artifacts/a.py", "f")
    try:
        untrusted(inputs["scoring"], "audit", "artifacts/a.py", "f")
    except ScoringError as error:
        return {{"status": "FAIL", "metrics": {{"said": str(error)}}}}
"""
    outcome = evaluate(tmp_path, source, environments=("box", "audit"), gold=("audit",))
    assert "The host audit holds the gold set" in outcome.value["metrics"]["said"]
    assert outcome.requests == []


def test_a_request_that_its_evaluator_cancels_is_told_so_that_it_can_be_ended(tmp_path):
    source = """
import asyncio
async def evaluate(inputs):
    scoring = inputs["scoring"]
    try:
        await asyncio.wait_for(scoring.exec("box", ["sleep", "600"]), 0.2)
    except asyncio.TimeoutError:
        said = (await scoring.exec("box", ["true"])).exit_code
    return {"status": "PASS", "metrics": {"said": said}}
"""
    outcome = evaluate(tmp_path, source, answer=lambda _frame: ended(), answered_late=3)
    assert outcome.value["metrics"] == {"said": 0}
    first, cancel, second = outcome.requests
    assert (first.kind, cancel.kind, cancel.request, second.kind) == ("exec", "cancel", first.id, "exec")


def told(outcome):
    return [frame.row for frame in outcome.requests if isinstance(frame, Check)]


def test_a_check_that_counts_at_once_is_sent_when_it_is_made(tmp_path):
    body = """
from scorehost_sdk import check
check("first", status="PASS", details={"a": 1})
check("second", status="FAIL", message="why")
raise KeyError("gold")
"""
    outcome = evaluate(tmp_path, plain(body))
    assert outcome.error.kind == "evaluator_exception"
    assert [(row["id"], row["status"]) for row in told(outcome)] == [("first", "PASS"), ("second", "FAIL")]
    assert told(outcome)[0]["details"] == {"a": 1}


def test_rows_that_json_cannot_hold_and_too_many_of_them_are_said_and_not_sent(tmp_path):
    body = """
from scorehost_sdk import check
check("odd", status="PASS", details={1, 2})
for number in range(10_005): check(str(number), status="PASS")
return {"status": "PASS"}
"""
    rows = told(evaluate(tmp_path, plain(body)))
    assert rows[0]["_unserializable"] == 0
    assert len(rows) == 10_001
    assert rows[-1] == {"_unserializable": 10_000, "reason": "more than 10000 rows"}


def test_a_forked_process_tells_no_checks(tmp_path):
    body = """
from scorehost_sdk import check
if os.fork() == 0:
    check("forged", status="PASS")
    os._exit(0)
os.wait()
return {"status": "FAIL"}
"""
    assert told(evaluate(tmp_path, plain(body))) == []


def test_outside_an_evaluation_a_check_is_its_row_and_no_more():
    assert check("id", status="PASS")["id"] == "id"


@pytest.mark.parametrize("flavour", ["", "async "])
def test_in_the_ageval_layout_every_name_means_the_single_host(tmp_path, flavour):
    wait = "await " if flavour else ""
    source = f"""
from ageval_sdk import UnknownEnvironment, untrusted
{flavour}def evaluate(inputs):
    scoring = inputs["scoring"]
    {wait}scoring.exec("x", ["true"])
    {wait}scoring.exec(None, ["true"])
    try: untrusted(scoring, "x", "artifacts/a.py", "f")
    except UnknownEnvironment: return {{"status": "PASS"}}
"""
    outcome = evaluate(tmp_path, source, answer=lambda _: ended(), environments=(), any_name=True)
    assert outcome.value == {"status": "PASS"}
    assert [frame.name for frame in outcome.requests] == [None, None]


def test_in_this_programs_own_layout_only_none_names_the_single_host(tmp_path):
    outcome = evaluate(tmp_path, plain('scoring.exec("x", ["true"])'), environments=())
    assert (outcome.error.kind, outcome.requests) == ("unknown_environment", [])


def test_a_send_is_no_time_out_when_it_was_the_controller_that_was_late(tmp_path):
    body = """
process = scoring.open("box", ["cat"])
process.send("x", timeout=0.2)
return {"status": "PASS"}
"""

    def answer(frame):
        if frame.kind == "send":
            time.sleep(1)  # held up: it takes the request, and answers it, only then
        return {"process": 1} if frame.kind == "open" else None

    outcome = evaluate(tmp_path, plain(body), answer=answer)
    assert outcome.value == {"status": "PASS"}


def test_a_send_that_nobody_reads_is_a_time_out(tmp_path):
    body = """
process = scoring.open("box", ["sleep", "60"])
try: process.send("x", timeout=0.2)
except TimeoutError: return {"status": "FAIL"}
"""
    replies = {"open": {"process": 1}, "send": UNANSWERED, "cpu": {"seconds": None}}
    outcome = evaluate(tmp_path, plain(body), answer=lambda frame: replies[frame.kind])
    assert outcome.value == {"status": "FAIL"}
