"""The keeper attacked from aside: by its socket, its priority, owners of signals, full memory, siblings."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from scorehost.runs.scored import scored
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

LIMITS = {"evaluate_seconds": 10, "memory_mb": 128, "pids": 64}
# The evaluator starts what its submission handed in as a child, in the forms that a child can take.
FINDS = """
import ctypes, errno, fcntl, json, os, resource, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
keeper = os.getppid()
own = os.getpid()
PASS = json.dumps({"kind": "result", "value": {"status": "PASS", "score": 1.0}}).encode()
FRAME = (len(PASS) + 1).to_bytes(4, "big") + b"r" + PASS
HONEST = {"status": "FAIL", "score": 0.25}
"""


async def attempt(tmp_path, job_id, body, before="", **spec):
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    source = f"{FINDS}\n{before}\ndef evaluate(inputs):\n{lines}\n"
    root = write_task(tmp_path / "d", source, **{"limits": LIMITS, **spec})
    async with open_engine() as engine:
        return await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")


def is_honest(made):
    return (made.result.status, made.result.score) == ("FAIL", 0.25)


# The owner of a pipe's signals can be any process of the user: who fills the pipe has the kernel send it one.
OWNS = """
source, sink = os.pipe()
told = []
for owner in (keeper, -keeper, 1):
    for number in (signal.SIGKILL, signal.SIGSTOP):
        try:
            fcntl.fcntl(source, 10, int(number))
            fcntl.fcntl(source, fcntl.F_SETOWN, owner)
            fcntl.fcntl(source, fcntl.F_SETFL, os.O_ASYNC)
            os.write(sink, b"x")
            told.append(int(number))
        except OSError as error:
            told.append(error.strerror)
for number in (2, inputs["scoring"].link._sink):
    try:
        fcntl.fcntl(number, 10, int(signal.SIGKILL))
        fcntl.fcntl(number, fcntl.F_SETOWN, keeper)
        fcntl.fcntl(number, fcntl.F_SETFL, os.O_ASYNC)
    except OSError as error:
        told.append(error.strerror)
print("filled" * 1000)
return HONEST
"""


async def test_a_keeper_that_is_made_the_owner_of_signals_gets_none_or_the_attempt_counts_as_lowest(
    tmp_path, job_id
):
    made = await attempt(tmp_path, job_id, OWNS)
    assert is_honest(made) or scored(made.result, ()).counts_as_lowest, made.log
    assert is_honest(made), (made.result.error, made.log)


DESCRIPTORS = """
way = socket.socket(fileno=os.dup(inputs["scoring"].link._sink))
pid = libc.fork()
if pid == 0:
    spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(n.to_bytes(4, "little") for n in spare))]
    way.settimeout(1)
    try:
        for _ in range(400):
            way.sendmsg([b"x"], rights)
            way.sendmsg([b""], rights)
    except OSError:
        pass
    os._exit(0)
os.waitpid(pid, 0)
way.settimeout(None)
return {**HONEST, "metrics": {"descriptors": inputs["scoring"].exec(None, ["true"]).exit_code}}
"""


async def test_descriptors_sent_to_the_keeper_do_not_reach_it(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, DESCRIPTORS)
    assert is_honest(made), (made.result.error, made.log)


URGENT = """
way = socket.socket(fileno=os.dup(inputs["scoring"].link._sink))
pid = libc.fork()
if pid == 0:
    try:
        for _ in range(100):
            way.send(b"x", socket.MSG_OOB | socket.MSG_DONTWAIT)
            way.send(b"", socket.MSG_DONTWAIT)
            way.send(FRAME, socket.MSG_OOB | socket.MSG_DONTWAIT)
    except OSError:
        pass
    os._exit(0)
os.waitpid(pid, 0)
before = resource.getrusage(resource.RUSAGE_SELF)
started = open(f"/proc/{keeper}/stat").read().split()[13:15]
time.sleep(1)
later = open(f"/proc/{keeper}/stat").read().split()[13:15]
ran = sum(map(int, later)) - sum(map(int, started))
return {**HONEST, "metrics": {"ticks": ran}}
"""


async def test_urgent_bytes_of_a_fork_neither_speak_nor_keep_the_keeper_busy(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, URGENT)
    assert is_honest(made), (made.result.error, made.log)
    assert made.result.metrics["ticks"] < 50


SHUTS = """
way = socket.socket(fileno=os.dup(inputs["scoring"].link._sink))
pid = libc.fork()
if pid == 0:
    way.send(FRAME)
    way.shutdown(socket.SHUT_RDWR)
    os._exit(0)
time.sleep(3)
return {"status": "PASS"}
"""


async def test_a_way_that_a_fork_shuts_leaves_no_verdict(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, SHUTS)
    assert made.kind == "evaluator_exit"
    assert scored(made.result, ()).counts_as_lowest


# A sibling: the keeper's child too, and in the evaluator's own memory.
SIBLING = """
pid = libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0) if os.uname().machine == "x86_64" else libc.fork()
if pid == 0:
    os.write(inputs["scoring"].link._sink, FRAME)
    os._exit(0)
time.sleep(0.5)
return HONEST
"""


async def test_a_sibling_of_the_evaluator_is_neither_heard_nor_taken_for_it(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, SIBLING)
    assert is_honest(made), (made.result.error, made.log)


# What the scheduler gives the keeper is its user's to lower.
STARVES = """
told = []
for act in (lambda: os.setpriority(os.PRIO_PROCESS, keeper, 19),
            lambda: os.sched_setscheduler(keeper, os.SCHED_IDLE, os.sched_param(0))):
    try:
        act()
        told.append("done")
    except OSError as error:
        told.append(error.strerror)
for _ in range(24):
    if os.fork() == 0:
        os.setsid()
        while True: os.getpid()
return HONEST
"""


async def test_a_keeper_that_gets_only_idle_time_says_the_evaluators_verdict_or_the_lowest(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, STARVES)
    assert is_honest(made) or scored(made.result, ()).counts_as_lowest, (made.result.error, made.log)


# Memory that no kill frees: what lies in the host's places in memory stays when all processes are dead.
FILLS = """
pid = os.fork()
if pid == 0:
    os.setsid()
    for place in ("/dev/shm", "/tmp", "/attempt/output"):
        try:
            with open(place + "/fill", "wb", buffering=0) as file:
                while True: file.write(b"x" * 65536)
        except OSError: continue
    os._exit(0)
os.waitpid(pid, 0)
os.chmod("/attempt/evaluation/gold.txt", 0o644)
return {"status": "PASS"}
"""


async def test_memory_that_stays_full_to_the_last_hides_no_change(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, FILLS)
    assert made.kind in ("changed_input", "evaluator_oom", "evaluator_exit"), made.log
    assert scored(made.result, ()).counts_as_lowest


RENAMES = """
pid = os.fork()
if pid == 0:
    try:
        os.rename("/attempt/evaluation", "/attempt/task/e")
        os.rename("/attempt/task/e", "/attempt/evaluation")
    except OSError: pass
    try:
        os.link("/attempt/evaluation/gold.txt", "/attempt/task/hard")
    except OSError: pass
    os._exit(0)
os.waitpid(pid, 0)
return {"status": "PASS"}
"""


async def test_folders_that_were_moved_and_moved_back_are_a_change(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, RENAMES)
    assert made.kind == "changed_input"
    assert scored(made.result, ()).counts_as_lowest


# A child of the evaluator ends the evaluator, by each way that the kernel knows, and gains nothing.
ENDS = """
code = "import os, sys; os.kill(int(sys.argv[1]), {number})"
subprocess.Popen([sys.executable, "-c", code, str(own)])
time.sleep(2)
return {{"status": "PASS"}}
"""


@pytest.mark.parametrize("number", [3, 6, 9, 11, 14, 24, 31, 34, 64])
async def test_an_evaluator_that_its_child_ends_counts_as_the_lowest(tmp_path, job_id, number):
    made = await attempt(tmp_path, job_id, ENDS.format(number=number))
    assert made.kind == "evaluator_exit", made.log
    assert scored(made.result, ()).counts_as_lowest


STOPS = """
pid = os.fork()
if pid == 0:
    os.setsid()
    while True:
        try: os.kill(own, signal.SIGSTOP)
        except OSError: pass
time.sleep(20)
return {"status": "PASS"}
"""


async def test_a_stopped_evaluator_ends_at_its_deadline(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, STOPS, limits={**LIMITS, "evaluate_seconds": 3})
    assert made.kind == "evaluator_timeout", made.log
    assert scored(made.result, ()).counts_as_lowest


# Large requests while large replies are on their way: each side has more to say than pipes hold.
CROSS = """
def one(number):
    code = "import sys; print('x' * 3_000_000); sys.stdin.read()"
    ran = inputs["scoring"].exec("work", ["python3", "-c", code], stdin=b"y" * 6_000_000)
    done.append(ran.exit_code)
done = []
threads = [threading.Thread(target=one, args=(n,)) for n in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
return {**HONEST, "metrics": {"done": done}}
"""


async def test_large_requests_and_large_replies_that_cross_do_not_block_each_other(tmp_path, job_id):
    hosts = {"work": {"docker_image": "scorehost/python:3", "gold": False}}
    made = await attempt(
        tmp_path,
        job_id,
        CROSS,
        limits={"evaluate_seconds": 60, "memory_mb": 512, "output_bytes": 4_000_000},
        evaluation={"environments": hosts},
    )
    assert is_honest(made), (made.result.error, made.log)
    assert made.result.metrics["done"] == [0] * 12
