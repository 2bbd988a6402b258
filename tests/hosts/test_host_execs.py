"""What `scoring.exec` tells of processes in hosts, on the real engine."""

from __future__ import annotations

import hashlib
import json

import anyio
import pytest

from trial import IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# Prints, leaves a grandchild that holds the output, and goes on.
DOUBLE_FORK = """
DOUBLE = '''
import os, time
print("before", flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
'''
# pid and user of every process but itself
SEE = '''
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        print(pid, os.stat("/proc/" + pid).st_uid, os.getuid(),
              "self" if int(pid) == os.getpid() else "other")
    except OSError: pass
'''
"""


async def test_a_deadline_ends_an_exec_with_its_grandchildren_and_keeps_what_it_printed(scoring, work):
    scored = await scoring(
        DOUBLE_FORK
        + """
def evaluate(inputs):
    s = inputs["scoring"]
    s.exec("work", ["touch", "/tmp/mark"])
    late = s.exec("work", ["python3", "-c", DOUBLE], timeout=1)
    after = s.exec("work", ["ls", "/tmp"])
    return passed(late=told(late), after=told(after))
""",
        **work(),
    )
    metrics = scored.result.metrics
    late = metrics["late"]
    assert (late["timed_out"], late["exit_code"], late["stdout"]) == (True, 124, "before\n")
    assert 1.0 <= late["seconds"] < 2.5
    assert not late["host_lost"]
    assert not late["oom_killed"]
    assert metrics["after"]["exit_code"] == 0
    assert metrics["after"]["stdout"] == "", "the next use is a clean host"
    assert [(host.name, host.ended) for host in scored.result.hosts] == [
        ("evaluator", "removed"),
        ("work", "timed_out"),
        ("work", "removed"),
    ]


async def test_a_deadline_beside_the_evaluator_ends_all_of_the_execs_processes_and_not_the_evaluator(scoring):
    metrics = await scoring.passing(
        DOUBLE_FORK
        + """
def evaluate(inputs):
    s = inputs["scoring"]
    late = s.exec(None, ["python3", "-c", DOUBLE], timeout=1)
    after = s.exec(None, ["python3", "-c", SEE])
    return passed(late=told(late), after=told(after))
""",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16},
    )
    late = metrics["late"]
    assert (late["timed_out"], late["exit_code"], late["stdout"]) == (True, 124, "before\n")
    assert 1.0 <= late["seconds"] < 3
    rows = [line.split() for line in metrics["after"]["stdout"].splitlines()]
    assert rows
    assert [row for row in rows if row[1] == row[2] and row[3] == "other"] == []


async def test_the_last_line_of_a_quick_process_is_always_there(scoring, work):
    metrics = await scoring.passing(
        """
PRINT = "import os; os.write(1, b'x' * 200_000 + b'last'); os._exit(7)"
def evaluate(inputs):
    ends = [inputs["scoring"].exec("work", ["python3", "-S", "-c", PRINT]) for _ in range(20)]
    return passed(ends=[[len(r.stdout_bytes), r.stdout[-4:], r.exit_code] for r in ends])
""",
        **work(),
    )
    assert metrics["ends"] == [[200_004, "last", 7]] * 20


async def test_input_of_5_mb_and_all_bytes_pass_unchanged(scoring, work):
    sent = bytes(range(256)) * 20_480  # 5 MiB
    metrics = await scoring.passing(
        """
import hashlib
def evaluate(inputs):
    s = inputs["scoring"]
    data = bytes(range(256)) * 20_480
    sums = s.exec("work", ["sha256sum"], stdin=data)
    back = s.exec("work", ["cat"], stdin=bytes(range(256)) * 4)
    unread = s.exec("work", ["true"], stdin=data)
    none = s.exec("work", ["cat"])
    return passed(sums=told(sums), back=back.stdout_bytes.hex(), unread=told(unread), none=told(none))
""",
        **work(),
    )
    assert metrics["sums"]["stdout"].split()[0] == hashlib.sha256(sent).hexdigest()
    assert metrics["back"] == (bytes(range(256)) * 4).hex()
    assert metrics["unread"]["exit_code"] == 0
    assert (metrics["none"]["exit_code"], metrics["none"]["stdout"]) == (0, "")


async def test_words_of_an_exec_and_of_its_environment_arrive(scoring, work):
    metrics = await scoring.passing(
        """
from scorehost_sdk import ScoringError
SHOW = "import os, json, sys; print(json.dumps([sys.argv[1:], os.getcwd(), os.getuid(), dict(os.environ)]))"
def evaluate(inputs):
    s = inputs["scoring"]
    own = s.exec("work", ["python3", "-c", SHOW, "a b", "", "*", "ü"])
    asked = s.exec("work", ["python3", "-c", SHOW], env={"MINE": "1", "TASKS": "over"}, workdir="/tmp")
    scratch = s.exec("work", ["sh", "-c", "echo data > /scratch/deep/f && cat /scratch/deep/f"])
    missing = s.exec("work", ["no-such-program"])
    closed = s.exec("work", ["/etc/passwd"])
    try: s.exec("work", ["true"], workdir="/no/such/folder")
    except ScoringError as error: nowhere = str(error)
    return passed(own=told(own), asked=told(asked), scratch=told(scratch), missing=told(missing),
                  closed=told(closed), nowhere=nowhere)
""",
        **work(env={"TASKS": "word"}, workdir="/attempt/artifacts", scratch=["/scratch/deep"], user=4321),
    )
    argv, folder, user, env = json.loads(metrics["own"]["stdout"])
    assert argv == ["a b", "", "*", "ü"]
    assert folder == "/attempt/artifacts"
    assert user == 4321
    assert env["TASKS"] == "word"
    assert env["PYTHONSAFEPATH"] == "1"
    assert env["PYTHONHASHSEED"] == "0"
    assert (env["HOME"], env["TMPDIR"], env["TZ"], env["LC_ALL"]) == ("/tmp", "/tmp", "UTC", "C.UTF-8")
    _, folder, _, env = json.loads(metrics["asked"]["stdout"])
    assert (folder, env["MINE"], env["TASKS"]) == ("/tmp", "1", "over")
    assert metrics["scratch"]["stdout"] == "data\n"
    nowhere = metrics.pop("nowhere")
    assert "could not be started" in nowhere
    assert "/no/such/folder" in nowhere
    assert (metrics["missing"]["exit_code"], metrics["closed"]["exit_code"]) == (127, 126)
    assert "no-such-program" in metrics["missing"]["stderr"]
    for row in metrics.values():
        assert not row["host_lost"]
    assert (metrics["missing"]["stdout"], metrics["closed"]["stdout"]) == ("", "")


async def test_a_process_that_closes_its_output_is_waited_for(scoring, work):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    quiet = s.exec("work", ["sh", "-c", "exec >&- 2>&-; sleep 1; exit 7"])
    late = s.exec("work", ["sh", "-c", "exec >&- 2>&-; sleep 60"], timeout=1)
    return passed(quiet=told(quiet), late=told(late))
""",
        **work(),
    )
    assert (metrics["quiet"]["exit_code"], metrics["quiet"]["host_lost"]) == (7, False)
    assert (metrics["late"]["exit_code"], metrics["late"]["timed_out"]) == (124, True)
    assert metrics["late"]["seconds"] < 3


async def test_500_orphans_leave_no_zombies(scoring, work):
    metrics = await scoring.passing(
        """
ORPHANS = '''
import os
for _ in range(500):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
'''
ZOMBIES = '''
import os, time
time.sleep(0.5)
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{pid}/stat") as file:
        if file.read().rpartition(")")[2].split()[0] == "Z": print(pid)
'''
def evaluate(inputs):
    s = inputs["scoring"]
    made = s.exec("work", ["python3", "-S", "-c", ORPHANS])
    return passed(made=told(made), zombies=told(s.exec("work", ["python3", "-S", "-c", ZOMBIES])))
""",
        **work({"pids": 64}),
    )
    assert metrics["made"]["exit_code"] == 0, metrics["made"]["stderr"]
    assert (metrics["zombies"]["exit_code"], metrics["zombies"]["stdout"]) == (0, "")


async def test_a_fork_bomb_is_told_with_the_limit_that_stopped_it(scoring, work):
    metrics = await scoring.passing(
        """
BOMB = '''
import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
'''
def evaluate(inputs):
    s = inputs["scoring"]
    bomb = s.exec("work", ["python3", "-S", "-c", BOMB], timeout=2)
    after = s.exec("work", ["echo", "clean"])
    return passed(bomb=told(bomb), after=told(after))
""",
        **work({"pids": 40}),
    )
    assert metrics["bomb"]["timed_out"]
    assert "limit of 40 processes" in metrics["bomb"]["stderr"]
    assert metrics["after"]["stdout"] == "clean\n"
    assert "processes" not in metrics["after"]["stderr"]


async def test_after_three_replacements_a_host_is_told_lost_and_not_started_again(scoring, work):
    scored = await scoring(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    late = [told(s.exec("work", ["sleep", "60"], timeout=0.2)) for _ in range(5)]
    return passed(late=[[r["timed_out"], r["host_lost"]] for r in late])
""",
        **work(),
    )
    assert scored.result.metrics["late"] == [[True, False]] * 4 + [[False, True]]
    assert [host.name for host in scored.result.hosts] == ["evaluator"] + ["work"] * 4


async def test_fresh_and_reset_give_clean_hosts_that_count_as_no_replacement(scoring):
    small = {"docker_image": IMAGE, "tmpfs_mb": 16}
    scored = await scoring(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    mark = ["sh", "-c", "ls /tmp; touch /tmp/mark"]
    fresh = [s.exec("fresh", mark).stdout for _ in range(5)]
    kept = [s.exec("kept", mark).stdout for _ in range(2)]
    reset = []
    for _ in range(5):
        s.reset("kept")
        reset.append(s.exec("kept", mark).stdout)
    return passed(fresh=fresh, kept=kept, reset=reset)
""",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16, "environments": {"fresh": {**small, "fresh": True}, "kept": small}},
    )
    assert scored.kind is None, (scored.result.error, scored.log)
    assert scored.result.metrics == {"fresh": [""] * 5, "kept": ["", "mark\n"], "reset": [""] * 5}


async def test_an_unknown_or_missing_name_starts_nothing_and_uncaught_is_an_error(scoring, work):
    made: list[str] = []
    async with anyio.create_task_group() as group:

        async def listen(*, task_status):
            async with scoring.engine.events({"scorehost.job": scoring.job_id}) as events:
                task_status.started()
                async for event in events:
                    made.extend([event.attributes["scorehost.host"]] if event.action == "create" else [])

        await group.start(listen)
        metrics = await scoring.passing(
            """
from scorehost_sdk import UnknownEnvironment
def evaluate(inputs):
    refused = []
    for name in ("nosuch", None, "", "Work", "evaluator"):
        for use in (lambda: inputs["scoring"].exec(name, ["true"]),
                    lambda: inputs["scoring"].open(name, ["true"]),
                    lambda: inputs["scoring"].reset(name)):
            try: use()
            except UnknownEnvironment as error: refused.append(str(error))
    return passed(refused=refused)
""",
            **work(),
        )
        uncaught = await scoring(
            "def evaluate(inputs):\n    inputs['scoring'].exec('nosuch', ['true'])\n", **work()
        )
        await anyio.sleep(0.3)
        group.cancel_scope.cancel()
    assert len(metrics["refused"]) == 15
    assert all("work" in text for text in metrics["refused"])
    assert uncaught.kind == "unknown_environment"
    assert uncaught.result.score is None
    assert made == ["evaluator", "evaluator"]
