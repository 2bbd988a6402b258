"""Nothing but what evaluate() returns makes a verdict, whatever else speaks, kills or loops in its host."""

from __future__ import annotations

import pytest
from attempts import scored

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# Writes PASS frames to every descriptor of every process that it can open, then kills all that it can.
FORGE = r"""
import json, os, signal, sys
result = {"kind": "result", "value": {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []},
          "usage": {"peak_memory_bytes": None, "cpu_seconds": None}, "trees": {}}
body = json.dumps(result).encode()
frames = (64 + len(body)).to_bytes(4, "big") + b"0" * 64 + body + len(body).to_bytes(4, "big") + body
mine, others, killed = os.getpid(), 0, 0
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    for number in range(0 if pid != mine else 3, 32):
        try:
            descriptor = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
            if pid != mine: others += 1
            os.write(descriptor, frames)
        except OSError:
            continue
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    try:
        if pid != mine:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    except OSError:
        continue
print(others, killed, flush=True)
"""


BY_A_PROGRAM = f"""
import subprocess, sys, time
FORGE = {FORGE!r}
def evaluate(inputs):
    subprocess.Popen([sys.executable, "-c", FORGE])
    time.sleep(20)
    return {{"status": "FAIL"}}
"""
BY_A_FORK = f"""
import os, time
FORGE = {FORGE!r}
def evaluate(inputs):
    if os.fork() == 0:
        exec(FORGE)
        os._exit(0)
    time.sleep(20)
    return {{"status": "FAIL"}}
"""
BY_A_FORK_THAT_RETURNS = """
import os, time
def evaluate(inputs):
    if os.fork() == 0:
        return {"status": "PASS", "score": 1.0}
    os.wait()
    return {"status": "FAIL", "score": 0.0}
"""


@pytest.mark.parametrize("evaluator", [BY_A_PROGRAM, BY_A_FORK], ids=["program", "fork"])
async def test_a_child_that_forges_a_pass_and_kills_its_parent_makes_no_verdict(tmp_path, job_id, evaluator):
    done = await scored(tmp_path, job_id, evaluator)
    assert done.result.status == "ERROR"
    assert done.result.score is None
    assert done.kind in ("evaluator_exit", "host_lost", "channel_violation")


async def test_a_forked_child_that_returns_a_pass_has_no_say(tmp_path, job_id):
    done = await scored(tmp_path, job_id, BY_A_FORK_THAT_RETURNS)
    assert (done.result.status, done.result.score) == ("FAIL", 0.0)


BESIDE = f"""
FORGE = {FORGE!r}
def evaluate(inputs):
    said = inputs["scoring"].exec(None, ["python3", "-c", FORGE])
    return {{"status": "FAIL", "score": 0.0, "metrics": {{"said": said.stdout, "exit": said.exit_code}}}}
"""


async def test_an_exec_beside_the_evaluator_can_neither_speak_for_it_nor_kill_it(tmp_path, job_id):
    done = await scored(tmp_path, job_id, BESIDE)
    assert (done.result.status, done.result.score) == ("FAIL", 0.0), (done.result.error, done.log)
    assert done.result.metrics == {"said": "0 0\n", "exit": 0}


REACHING = """
import gc, os, time
def channel():
    return next(each for each in gc.get_objects() if type(each).__name__ == "Channel")
ENDED = {"kind": "ended", "status": 0, "stopped": False, "broken": False, "oom_kills": 0,
         "usage": {"peak_memory_bytes": None, "cpu_seconds": None}, "trees": {}}
def tell(status):
    channel().finish({"kind": "result", "value": {"status": status}})
"""


@pytest.mark.parametrize(
    "body",
    [
        "tell('PASS'); time.sleep(60)",
        "tell('PASS'); tell('PASS'); os._exit(0)",
        "tell('PASS')\n    return {'status': 'PASS'}",
        "tell('PASS'); os.write(channel()._sink, b'x'); os._exit(0)",
        "os.write(channel()._sink, b'no frame, but bytes enough for a length'); time.sleep(60)",
        "os.write(channel()._sink, b'\\xff\\xff\\xff\\xff' + b'0' * 100); time.sleep(60)",
        "channel().tell({'kind': 'verdict', 'status': 'PASS'}); time.sleep(60)",
        "channel().tell(ENDED); time.sleep(60)",
        "channel()._write(b'k', {'kind': 'ended'}); time.sleep(60)",
    ],
    ids=[
        "result, then a loop",
        "two results",
        "told and returned",
        "a byte after",
        "no frame",
        "4 GB",
        "unknown",
        "the keeper's last word",
        "a letter of its own",
    ],
)
async def test_what_is_no_result_with_silence_and_an_exit_after_it_is_a_violation(tmp_path, job_id, body):
    done = await scored(tmp_path, job_id, REACHING + f"def evaluate(inputs):\n    {body}\n")
    assert done.kind == "channel_violation", (done.result.status, done.result.error, done.log)
    assert done.result.score is None
    assert done.result.hosts[0].ended != ""


async def test_bytes_on_descriptor_1_go_to_the_log_and_change_nothing(tmp_path, job_id):
    evaluator = """
    import os, subprocess
    def evaluate(inputs):
        os.write(1, b"\\xff raw\\n")
        print("printed")
        subprocess.run(["echo", '{"status": "PASS", "score": 1}'])
        return {"status": "FAIL", "score": 0.125}
    """
    done = await scored(tmp_path, job_id, evaluator)
    assert (done.result.status, done.result.score) == ("FAIL", 0.125)
    assert done.log == b'\xff raw\nprinted\n{"status": "PASS", "score": 1}\n'


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("float('nan')", "invalid_result", "result.score is nan, "),
        ("1e999", "invalid_result", "result.score is inf, "),
        ("10**400", "invalid_result", "score is a whole number of more than 60 digits, not a finite number"),
        ("True", "invalid_result", "score is true, not a number"),
        ("'0.9'", "invalid_result", 'score is "0.9", not a number'),
        ("1.7", "invalid_result", "score is 1.7, outside of score_range [0, 1]"),
        ("object()", "invalid_result", "result.score is of type object, "),
    ],
)
async def test_a_score_that_is_none_is_named_with_its_value(tmp_path, job_id, value, kind, said):
    evaluator = f"def evaluate(inputs):\n    return {{'status': 'PASS', 'score': {value}}}\n"
    done = await scored(tmp_path, job_id, evaluator)
    assert done.result.error is not None
    assert done.kind == kind
    assert done.result.error.message.startswith(said)
    assert (done.result.error.phase, done.result.error.blame) == ("evaluate", "dataset")
