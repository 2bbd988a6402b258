"""Submitted code that breaks its named host is told of, and the next use is clean; on the real engine."""

from __future__ import annotations

import anyio
import pytest

from trial import IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.anyio]


async def test_code_in_a_named_host_cannot_end_its_main_process(scoring, work):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    attack = s.exec("work", ["sh", "-c", "kill -9 1; echo $?; kill -9 -1; echo $?"])
    own = s.exec("work", ["sh", "-c", "kill -9 $$"])
    after = s.exec("work", ["echo", "runs"])
    return passed(attack=told(attack), own=told(own), after=told(after))
""",
        **work(),
    )
    assert metrics["attack"]["stdout"].split()[0] == "1"
    assert (metrics["own"]["exit_code"], metrics["own"]["host_lost"]) == (137, False)
    assert metrics["after"]["stdout"] == "runs\n"


async def test_full_scratch_space_and_too_many_files_are_told_as_no_space(scoring, work):
    metrics = await scoring.passing(
        """
FILES = '''
import errno, os
made = 0
try:
    for made in range(500_000): os.close(os.open(f"/tmp/{made}", os.O_CREAT | os.O_WRONLY))
except OSError as error: print(errno.errorcode[error.errno], made)
'''
def evaluate(inputs):
    s = inputs["scoring"]
    fill = "head -c 100000000 /dev/zero > /tmp/big; stat -c %s /tmp/big; rm /tmp/big"
    big = s.exec("work", ["sh", "-c", fill])
    files = s.exec("work", ["python3", "-S", "-c", FILES])
    shm = s.exec("work", ["sh", "-c", "head -c 100000000 /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big"])
    return passed(big=told(big), files=told(files), shm=told(shm))
""",
        **work(shm_mb=4),
    )
    assert "No space left" in metrics["big"]["stderr"]
    assert int(metrics["big"]["stdout"]) == 16 * 1024 * 1024
    reason, made = metrics["files"]["stdout"].split()
    assert reason == "ENOSPC"
    assert int(made) <= 16 * 256
    assert int(metrics["shm"]["stdout"]) == 4 * 1024 * 1024


async def test_memory_of_a_named_host_taken_is_told(scoring, work):
    metrics = await scoring.passing(
        """
GREEDY = "a = []\\nwhile True: a.append(bytearray(1 << 20))"
PARENT = '''
import subprocess, sys
sys.exit(1 if subprocess.run([sys.executable, "-S", "-c", %r]).returncode == -9 else 0)
''' % GREEDY
def evaluate(inputs):
    s = inputs["scoring"]
    greedy = s.exec("work", ["python3", "-S", "-c", GREEDY])
    child = s.exec("work", ["python3", "-S", "-c", PARENT])
    after = s.exec("work", ["echo", "clean"])
    return passed(greedy=told(greedy), child=told(child), after=told(after))
""",
        **work(),
    )
    assert (metrics["greedy"]["oom_killed"], metrics["greedy"]["exit_code"]) == (True, 137)
    assert not metrics["greedy"]["timed_out"]
    assert (metrics["child"]["oom_killed"], metrics["child"]["exit_code"]) == (True, 1)
    assert (metrics["after"]["stdout"], metrics["after"]["oom_killed"]) == ("clean\n", False)


COPY = """
def evaluate(inputs):
    runs = [inputs["scoring"].exec("work", ["find", "/attempt/workspace", "-type", "f"]) for _ in range(6)]
    lost = any(r.host_lost for r in runs)
    return {"status": "FAIL" if lost else "PASS", "metrics": {"files": len(runs[0].stdout.splitlines())}}
"""


def copying(**row):
    """Keys of a task whose only host has a writable copy of the workspace."""
    return {
        "artifacts": {"publishable": [{"id": "tree", "path": "workspace/in", "kind": "tree"}]},
        "evaluation": {"environments": {"work": {"docker_image": IMAGE, "workspace": "copy", **row}}},
    }


async def test_a_workspace_too_large_to_be_copied_is_told_and_no_trouble_of_the_environment(scoring):
    scored = await scoring(
        COPY,
        submission={"workspace/in/big": bytes(40 << 20)},
        **copying(tmpfs_mb=16, limits={"memory_mb": 24}),
    )
    assert (scored.result.status, scored.kind) == ("FAIL", None), scored.result.error
    assert scored.result.warnings[0].startswith("the workspace could not be copied into work")
    assert len(scored.result.hosts) == 5  # the evaluator's, and one with three replacements


async def test_a_workspace_of_many_small_files_has_room_in_memory(scoring):
    files = {f"workspace/in/{number % 7}/{number}": "x" for number in range(600)}
    assert (await scoring.passing(COPY, submission=files, **copying(tmpfs_mb=1)))["files"] == 600


async def test_a_host_that_runs_out_of_memory_ten_times_ends(scoring, work):
    scored = await scoring(
        """
GREEDY = '''
import os
while True:
    if os.fork() == 0:
        with open("/proc/self/oom_score_adj", "w") as file: file.write("1000")
        a = []
        while True: a.append(bytearray(1 << 20))
    os.wait()
'''
def evaluate(inputs):
    s = inputs["scoring"]
    greedy = s.exec("work", ["python3", "-S", "-c", GREEDY])
    after = s.exec("work", ["echo", "clean"])
    return passed(greedy=told(greedy), after=told(after))
""",
        **work({"exec_seconds": 30}),
    )
    greedy = scored.result.metrics["greedy"]
    assert (greedy["oom_killed"], greedy["host_lost"], greedy["timed_out"]) == (True, True, False)
    assert scored.result.metrics["after"]["stdout"] == "clean\n"
    assert [host.ended for host in scored.result.hosts] == ["removed", "oom", "removed"]
    assert scored.result.hosts[1].peak_memory_bytes >= 60 * 1024 * 1024


async def test_a_named_host_that_floods_is_ended_and_told(scoring, work):
    with anyio.fail_after(30):
        scored = await scoring(
            """
def evaluate(inputs):
    s = inputs["scoring"]
    flood = s.exec("work", ["yes"])
    after = s.exec("work", ["echo", "clean"])
    return passed(flood=told(flood), after=told(after))
""",
            **work({"output_total_bytes": 3_000_000, "output_bytes": 1024}),
        )
    flood = scored.result.metrics["flood"]
    assert (flood["host_lost"], flood["truncated"], flood["timed_out"]) == (True, True, False)
    assert flood["seconds"] < 5
    assert flood["stdout"].startswith("y\ny\n")
    assert "bytes left out here]" in flood["stdout"]
    assert scored.result.metrics["after"]["stdout"] == "clean\n"
    assert [host.ended for host in scored.result.hosts] == ["removed", "output_limit", "removed"]


async def test_a_flood_does_not_hold_up_a_deadline(scoring, work):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    flood = inputs["scoring"].exec("work", ["yes"], timeout=1)
    return passed(flood=told(flood))
""",
        **work({"output_bytes": 1024}),
    )
    assert metrics["flood"]["timed_out"]
    assert metrics["flood"]["seconds"] < 4


DAEMONS = """
HEAD = '''
import os, resource, signal, time
if os.fork():
    time.sleep(1)
    os._exit(0)
os.setsid()
os.closerange(0, 3)
'''
DAEMONS = {
    "takes all processes": HEAD + '''
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
''',
    "kills what starts": HEAD + '''
while True:
    try: os.kill(-1, signal.SIGKILL)
    except OSError: pass
''',
    "leaves no descriptors": HEAD + '''
while True:
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) != os.getpid():
            try: resource.prlimit(int(name), resource.RLIMIT_NOFILE, (0, 0))
            except OSError: pass
''',
}
"""


async def test_a_daemon_that_keeps_programs_from_starting_is_told_or_the_submissions_fault(scoring, work):
    metrics = await scoring.passing(
        DAEMONS
        + """
from scorehost_sdk import HostLost, SubmissionFault
def evaluate(inputs):
    s, seen = inputs["scoring"], {}
    for name, daemon in DAEMONS.items():
        seen[name] = []
        s.exec("work", ["python3", "-S", "-c", daemon], timeout=20)
        for _ in range(3):
            try: r = s.exec("work", ["echo", "hello"], timeout=20)
            except (HostLost, SubmissionFault) as error: seen[name].append(type(error).__name__)
            else: seen[name].append([r.exit_code, r.stdout, r.host_lost, r.timed_out])
        s.reset("work")
    seen["clean"] = s.exec("work", ["echo", "hello"]).stdout
    return passed(**seen)
""",
        **work({"pids": 32}),
    )
    assert metrics.pop("clean") == "hello\n"
    assert metrics["leaves no descriptors"][0] == "SubmissionFault"
    assert metrics["leaves no descriptors"][1] == [0, "hello\n", False, False], "the next use is clean"
