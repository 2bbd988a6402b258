"""The keeper attacked by what has its user: no verdict but the evaluator's, no ending that gains anything."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from scorehost.runs.scored import scored
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

LIMITS = {"evaluate_seconds": 10, "memory_mb": 128, "pids": 64}
# What every attack finds: the keeper is the parent of the evaluator, init the parent of the keeper.
FINDS = """
import ctypes, json, os, resource, signal, subprocess, sys, threading, time
libc = ctypes.CDLL(None)
keeper = os.getppid()
def refused(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return ""
"""


async def attempt(tmp_path, job_id, body, **spec):
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    source = f"{FINDS}\ndef evaluate(inputs):\n{lines}\n"
    root = write_task(tmp_path / "d", source, **{"limits": LIMITS, **spec})
    async with open_engine() as engine:
        return await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")


SIGNALS = """
child = subprocess.run([sys.executable, "-c",
    "import os, sys; pid = int(sys.argv[1]); os.kill(pid, int(sys.argv[2]))",
    str(keeper), str(int(signal.{name}))], capture_output=True, text=True)
spared = "PermissionError" in child.stderr
time.sleep(0 if spared else 30)
return {{"status": "FAIL", "score": 0.25, "metrics": {{"spared": spared}}}}
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGCHLD", "SIGINT"])
async def test_a_child_that_signals_the_keeper_is_refused_or_ends_the_attempt_as_the_lowest(
    tmp_path, job_id, name
):
    made = await attempt(tmp_path, job_id, SIGNALS.format(name=name))
    if made.result.status == "FAIL":
        assert made.result.score == 0.25
    else:  # a kernel without Landlock's scopes
        assert made.kind in ("evaluator_exit", "evaluator_timeout")
        assert scored(made.result, ()).counts_as_lowest


EVERYBODY = """
pid = os.fork()
if pid == 0:
    os.kill(-1, signal.SIGKILL)
    os._exit(0)
os.wait()
return {"status": "FAIL"}
"""


async def test_a_child_that_kills_everybody_makes_no_verdict_but_the_evaluators(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, EVERYBODY)
    assert made.kind == "evaluator_exit"
    assert scored(made.result, ()).counts_as_lowest


LOOKS = """
seen = {}
for whose, pid in (("keeper", keeper), ("init", 1)):
    for name in ("mem", "environ", "maps", "auxv", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5"):
        for flags in (os.O_RDONLY, os.O_RDWR):
            if not refused(lambda: os.open(f"/proc/{pid}/{name}", flags | os.O_NONBLOCK)):
                seen.setdefault(whose, []).append(name)
seen["traced"] = libc.ptrace(16, keeper, 0, 0)
return {"status": "FAIL", "score": 0.25, "metrics": seen}
"""


async def test_the_keepers_memory_and_descriptors_are_closed(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, LOOKS)
    assert (made.result.status, made.result.score) == ("FAIL", 0.25), made.log
    assert "keeper" not in made.result.metrics
    assert made.result.metrics["traced"] == -1


# By the C library's own fork, which no hook of Python sees: the child has the socket, and writes there as the
# SDK does.
SPEAKS = """
pid = libc.fork()
if pid == 0:
    for descriptor in range(3, 32):
        for letter in (b"r", b"q", b"k"):
            body = letter + json.dumps({"kind": "result", "value": {"status": "PASS", "score": 1.0}}).encode()
            try:
                os.write(descriptor, len(body).to_bytes(4, "big") + body)
            except OSError:
                pass
    os._exit(0)
os.waitpid(pid, 0)
return {"status": "FAIL", "score": 0.25}
"""


async def test_a_grandchild_that_has_the_evaluators_socket_is_not_heard(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, SPEAKS)
    assert (made.result.status, made.result.score) == ("FAIL", 0.25), (made.result.error, made.log)


BETWEEN = """
channel = inputs["scoring"].link
body = b"q" + json.dumps({"kind": "log", "id": 1, "text": "cut in two"}).encode()
data = len(body).to_bytes(4, "big") + body
os.write(channel._sink, data[:7])
pid = libc.fork()
if pid == 0:
    os.write(channel._sink, b"forged" * 1000)
    os._exit(0)
os.waitpid(pid, 0)
os.write(channel._sink, data[7:])
return {"status": "FAIL", "score": 0.25}
"""


async def test_what_others_write_between_two_halves_of_a_frame_is_left_out(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, BETWEEN)
    assert (made.result.status, made.result.score) == ("FAIL", 0.25), (made.result.error, made.log)
    assert b"cut in two\n" in made.log


# A daemon in a session of its own that outlives the evaluator, and then writes what it can.
DAEMON = """
code = '''
import os, sys, time
evaluator = int(sys.argv[1])
for number in range(2):
    if os.fork(): os._exit(0)
    os.setsid()
while os.path.exists(f"/proc/{evaluator}"): pass
while True:
    os.chmod("/attempt/evaluation/gold.txt", 0o644)
    open("/attempt/evaluation/gold.txt", "w").write("forged")
    os.write(2, b"still here")
'''
subprocess.run([sys.executable, "-c", code, str(os.getpid())])
return {"status": "PASS", "score": 0.75}
"""


async def test_a_daemon_is_dead_before_the_verdict_counts_and_its_last_deeds_are_seen(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, DAEMON)
    if made.result.status == "PASS":  # it was dead before it could write
        assert made.result.score == 0.75
    else:
        assert made.kind == "changed_input"
        assert scored(made.result, ()).counts_as_lowest


AFTERWARDS = """
inputs["scoring"].link.finish({"kind": "result", "value": {"status": "PASS"}})
os.chmod("/attempt/evaluation/gold.txt", 0o644)
os._exit(0)
"""


async def test_trees_that_change_after_the_result_was_sent_leave_no_verdict(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, AFTERWARDS)
    assert made.kind == "changed_input"


# prlimit asks for the same user only: no memory, no files, no descriptors, no processor time for the keeper.
STARVES = """
for limit in ({limits}):
    resource.prlimit(keeper, limit, (0, 0))
os.chmod("/attempt/evaluation/gold.txt", 0o644)
return {{"status": "PASS"}}
"""


@pytest.mark.parametrize(
    "limits",
    [
        "resource.RLIMIT_NOFILE,",
        "resource.RLIMIT_AS, resource.RLIMIT_DATA",
        "resource.RLIMIT_CPU,",
        "resource.RLIMIT_FSIZE,",
        "resource.RLIMIT_STACK,",
        "resource.RLIMIT_NPROC,",
        "resource.RLIMIT_SIGPENDING,",
    ],
)
async def test_a_keeper_that_was_left_nothing_vouches_for_no_changed_host(tmp_path, job_id, limits):
    made = await attempt(tmp_path, job_id, STARVES.format(limits=limits))
    assert made.kind in ("changed_input", "evaluator_exit"), (made.result.status, made.log)
    assert scored(made.result, ()).counts_as_lowest


EXHAUSTS = """
def fill():
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return held
fill()
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            {does}
        children.append(pid)
except OSError:
    pass
return {{"status": "FAIL", "score": 0.25}}
"""


@pytest.mark.parametrize(
    "does",
    ["signal.pause()", "while True: os.getpid()", "b = bytearray(1 << 20); signal.pause()"],
    ids=["pids", "processors", "memory"],
)
async def test_a_host_without_a_free_process_or_descriptor_still_ends_with_the_evaluators_word(
    tmp_path, job_id, does
):
    made = await attempt(tmp_path, job_id, EXHAUSTS.format(does=does))
    if made.result.status == "ERROR":
        assert made.kind == "evaluator_oom"
        assert scored(made.result, ()).counts_as_lowest
    else:
        assert (made.result.status, made.result.score) == ("FAIL", 0.25)


HOGS = """
pid = os.fork()
if pid == 0:
    held = []
    while True:
        held.append(bytearray(1 << 20))
os.waitpid(pid, 0)
return {"status": "FAIL", "score": 0.25}
"""


async def test_memory_that_runs_out_takes_a_child_of_the_evaluator_and_not_its_keeper(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, HOGS)
    assert (made.result.status, made.result.score, made.kind) in (
        ("FAIL", 0.25, None),
        ("ERROR", None, "evaluator_oom"),
    )


ORPHANS = """
for _ in range(200):
    subprocess.run(["sh", "-c", "true & true & true &"])
return {"status": "FAIL", "score": 0.25}
"""


async def test_orphans_do_not_pile_up_as_the_keepers_dead_children(tmp_path, job_id):
    made = await attempt(tmp_path, job_id, ORPHANS, limits={**LIMITS, "pids": 24})
    assert (made.result.status, made.result.score) == ("FAIL", 0.25), (made.result.error, made.log)
