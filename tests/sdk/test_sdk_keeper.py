"""The keeper of an evaluation: what it vouches for, what ends the evaluator, and what a fork of it can do."""

import fcntl
import os
import select
import subprocess
import sys
import termios
import time

import pytest
from scripted import PASSED, RETURNS, evaluate, lay_out, plain

from scorehost.hosts.frames import FrameReader, FrameWriter, Start, new_key
from scorehost.model.exec_result import ExecResult


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (RETURNS, 0),
        ("raise ValueError", 0),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), 9)", 128 + 9),
        ("os.abort()", 128 + 6),
        ("os.killpg(0, 15)", 128 + 15),  # its own process group, which is not its keeper's
    ],
)
def test_it_tells_how_the_evaluator_ended(tmp_path, body, status):
    outcome = evaluate(tmp_path, plain(body))
    assert (outcome.ended.status, outcome.ended.stopped, outcome.ended.broken) == (status, False, False)
    assert outcome.exit_code == 0


def test_it_ends_an_evaluator_whose_time_is_over(tmp_path):
    outcome = evaluate(tmp_path, plain("while True: pass"), over_after=1.0)
    assert (outcome.last, outcome.ended.stopped, outcome.ended.status) == (None, True, 128 + 9)


def test_an_evaluator_whose_threads_hold_the_interpreter_ends_all_the_same(tmp_path):
    body = "import ctypes\nctypes.PyDLL(None).sleep(60)\nreturn {'status': 'PASS'}"
    outcome = evaluate(tmp_path, plain(body), over_after=1.0)
    assert (outcome.last, outcome.ended.stopped) == (None, True)


def test_what_is_no_frame_of_the_sdk_ends_the_evaluator(tmp_path):
    body = f"os.write(scoring.link._sink, b'\\xff' * 100)\ntime.sleep(60)\n{RETURNS}"
    outcome = evaluate(tmp_path, plain(body))
    assert (outcome.last, outcome.ended.broken) == (None, True)


def test_an_evaluator_that_closes_every_descriptor_is_told_by_its_end(tmp_path):
    outcome = evaluate(tmp_path, plain(f"os.closerange(3, 1024)\n{RETURNS}"))
    assert outcome.last is None
    assert outcome.ended.status != 0


def test_large_replies_arrive_while_the_evaluator_is_slow_to_read(tmp_path):
    data = bytes(3_000_000)
    source = """
import asyncio
async def evaluate(inputs):
    reads = [inputs["scoring"].read_file("box", "/tmp/a") for _ in range(8)]
    sizes = [len(data) for data in await asyncio.gather(*reads)]
    return {"status": "PASS", "metrics": {"sizes": sizes}}
"""
    outcome = evaluate(tmp_path, source, answer=lambda _: {"data": data, "ended": True})
    assert outcome.value["metrics"] == {"sizes": [3_000_000] * 8}


FORKS = {
    "os.fork": "os.fork()",
    "the C library's": "__import__('ctypes').CDLL(None).fork()",
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.parametrize("flavour", ["def", "async def"])
def test_after_a_fork_the_childs_calls_fail_at_once(tmp_path, fork, flavour):
    wait = "await " if flavour == "async def" else ""
    source = f"""
import os
{flavour} evaluate(inputs):
    pid = {fork}
    if pid == 0:
        try:
            {wait}inputs["scoring"].exec("box", ["true"])
        except Exception as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    {RETURNS}
"""
    outcome = evaluate(tmp_path, source, seconds=20)
    assert (outcome.value, outcome.requests) == (PASSED, [])
    assert outcome.log == b"ScoringError\n"


def test_a_fork_while_a_thread_sends_does_not_hang_in_the_child(tmp_path):
    source = plain("""
import threading
def flood():
    while not over:
        scoring.log("x" * 1000)
over = []
thread = threading.Thread(target=flood)
thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        try:
            scoring.reset("box")
        except Exception:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
over.append(1)
thread.join()
return {"status": "PASS"}
""")
    assert evaluate(tmp_path, source, seconds=25).value == {"status": "PASS"}


# One call waits for its answer while another one sends more than anybody takes.
CROSSING = plain("""
import threading
def ask():
    os.write(2, b"answered %d" % len(scoring.exec("box", ["first"]).stdout))
    os._exit(0)
threading.Thread(target=ask).start()
time.sleep(0.5)
scoring.exec("box", ["second"], stdin=bytes(30_000_000))
""")


def test_a_controller_that_reads_no_further_until_its_answer_is_heard_is_heard(tmp_path):
    attempt = lay_out(tmp_path, CROSSING)
    key = new_key()
    reader, writer = FrameReader(key), FrameWriter(key)
    start = Start(entrypoint="evaluator:evaluate", inputs={}, environments=("box",), single=False, trees=())
    with subprocess.Popen(
        [sys.executable, "-s", str(attempt / ".scorehost" / "runner.py")],
        cwd=attempt,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            os.write(process.stdin.fileno(), writer.start(start))
            frames = []
            while not any(frame.kind == "exec" for frame in frames):
                frames += reader.feed(os.read(process.stdout.fileno(), 4096))
            request = next(frame for frame in frames if frame.kind == "exec")
            until = time.monotonic() + 20
            while _lies_in(process.stdout) < 60_000:
                assert time.monotonic() < until, "the second call was never sent"
                select.select([], [], [], 0.01)
            said = ExecResult(exit_code=0, stdout=b"x" * 2_000_000)
            answer = memoryview(writer.reply(request.id, said.wire()))
            os.set_blocking(process.stdin.fileno(), False)
            while answer:
                assert select.select([], [process.stdin], [], 10)[1], "the keeper does not listen"
                answer = answer[os.write(process.stdin.fileno(), answer) :]
            assert select.select([process.stderr], [], [], 10)[0], "the answer did not arrive"
            assert os.read(process.stderr.fileno(), 100) == b"answered 2000000"
        finally:
            process.kill()


def _lies_in(pipe):
    return int.from_bytes(fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)), sys.byteorder)
