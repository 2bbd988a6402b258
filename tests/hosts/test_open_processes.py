"""Processes that stay open, and files that move in and out of hosts, on the real engine."""

from __future__ import annotations

import hashlib

import pytest

from trial import IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.anyio]


async def test_an_open_process_is_talked_to_until_its_input_ends(scoring, work):
    metrics = await scoring.passing(
        """
ECHO = '''
import sys
for line in sys.stdin:
    print("got", line.strip(), flush=True)
print("end", file=sys.stderr)
sys.exit(5)
'''
def evaluate(inputs):
    s = inputs["scoring"]
    lines = []
    with s.open("work", ["python3", "-u", "-c", ECHO]) as p:
        for word in ("a", "b"):
            p.send(word + "\\n")
            lines.append(p.read_line(timeout=10))
        try: p.wait(timeout=0.3)
        except TimeoutError: lines.append("still open")
        p.send("c\\n")
        lines.append(p.read_line(timeout=10))
        beside = s.exec("work", ["echo", "beside"])
        p.send("d\\n")
        p.close_stdin()
        end = p.wait(timeout=10)
    with s.open("work", ["head", "-c", "6000000", "/dev/zero"]) as p:
        size = 0
        while data := p.receive(timeout=10): size += len(data)
    return passed(lines=lines, beside=beside.stdout, end=told(end), size=size)
""",
        **work(),
    )
    assert metrics["lines"] == ["got a\n", "got b\n", "still open", "got c\n"]
    assert metrics["beside"] == "beside\n"
    assert metrics["end"]["stdout"] == "got d\n"
    assert metrics["end"]["stderr"] == "end\n"
    assert (metrics["end"]["exit_code"], metrics["end"]["host_lost"]) == (5, False)
    assert metrics["size"] == 6_000_000


async def test_a_process_that_ignores_the_end_of_its_input_is_ended_and_the_next_use_is_clean(scoring, work):
    scored = await scoring(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    s.exec("work", ["touch", "/tmp/mark"])
    for _ in range(5):  # more often than a host may be replaced: ending a process is the evaluator's wish
        with s.open("work", ["sh", "-c", "echo ready; exec sleep 600"]) as p:
            ready = p.read_line(timeout=10)
    after = s.exec("work", ["ls", "/tmp"])
    return passed(ready=ready, after=told(after))
""",
        **work(),
    )
    assert scored.result.metrics["ready"] == "ready\n"
    assert (scored.result.metrics["after"]["exit_code"], scored.result.metrics["after"]["stdout"]) == (0, "")
    assert [host.ended for host in scored.result.hosts] == ["removed", *["reset"] * 5, "removed"]


async def test_a_process_left_open_beside_the_evaluator_is_ended(scoring):
    metrics = await scoring.passing(
        """
LEFT = '''
import os
me = os.getuid()
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if os.stat("/proc/" + pid).st_uid == me and int(pid) != os.getpid(): print(pid)
    except OSError: pass
'''
def evaluate(inputs):
    s = inputs["scoring"]
    with s.open(None, ["sh", "-c", "echo ready; exec sleep 600"]) as p:
        ready = p.read_line(timeout=10)
    return passed(ready=ready, left=told(s.exec(None, ["python3", "-c", LEFT])))
""",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16},
    )
    assert metrics["ready"] == "ready\n"
    assert (metrics["left"]["exit_code"], metrics["left"]["stdout"]) == (0, "")


async def test_a_flood_that_nobody_reads_waits_and_holds_nothing_up(scoring, work):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    with s.open("work", ["yes"]) as p:
        first = p.receive(timeout=10)[:4].decode()
        beside = s.exec("work", ["echo", "beside"])
    return passed(first=first, beside=told(beside))
""",
        **work(),
    )
    assert metrics["first"] == "y\ny\n"
    assert metrics["beside"]["stdout"] == "beside\n"


async def test_files_of_any_size_and_bytes_pass_both_ways(scoring, work):
    metrics = await scoring.passing(
        """
import hashlib
def evaluate(inputs):
    s = inputs["scoring"]
    data = bytes(range(256)) * 36_000  # 9,216,000 bytes: three parts
    name = "/tmp/a b'ü.bin"
    s.write_file("work", name, data)
    inside = s.exec("work", ["sha256sum", name]).stdout.split()[0].lstrip("\\\\")
    back = hashlib.sha256(s.read_file("work", name)).hexdigest()
    s.write_file("work", name, b"short")
    short = s.read_file("work", name).decode()
    s.write_file("work", "/attempt/output/four", bytes(4 << 20))
    four = len(s.read_file("work", "/attempt/output/four"))
    s.write_file("work", "/tmp/empty", b"")
    empty = len(s.read_file("work", "/tmp/empty"))
    refused = []
    for use in (lambda: s.read_file("work", "/no/such"),
                lambda: s.write_file("work", "/attempt/artifacts/x", b"x"),
                lambda: s.write_file("work", "/tmp/big", bytes(20 << 20))):
        try: use()
        except Exception as error: refused.append([type(error).__name__, str(error)])
    return passed(inside=inside, back=back, short=short, four=four, empty=empty, refused=refused)
""",
        **work({"memory_mb": 256}),
    )
    expected = hashlib.sha256(bytes(range(256)) * 36_000).hexdigest()
    assert (metrics["inside"], metrics["back"]) == (expected, expected)
    assert (metrics["short"], metrics["four"], metrics["empty"]) == ("short", 4 << 20, 0)
    assert [kind for kind, _ in metrics["refused"]] == ["ScoringError"] * 3
    assert "/no/such cannot be read" in metrics["refused"][0][1]
    assert "/attempt/artifacts/x cannot be written" in metrics["refused"][1][1]
    assert "No space left" in metrics["refused"][2][1]


async def test_a_workspace_that_is_copied_may_be_changed_and_run_and_others_may_not(scoring):
    row = {"docker_image": IMAGE, "tmpfs_mb": 16}
    metrics = await scoring.passing(
        """
STEPS = "cd /attempt/workspace && cat in/a.txt && cp /bin/echo e && ./e ran"
STEPS += " && echo new > in/a.txt && cat in/a.txt"
TRY = ["sh", "-c", STEPS]
def evaluate(inputs):
    s = inputs["scoring"]
    names = {name: told(s.exec(name, TRY)) for name in ("copied", "plain", "without")}
    for name in ("copied", "plain", "without"):
        names[name + "/artifacts"] = s.exec(name, ["ls", "-R", "/attempt/artifacts"]).stdout
    return passed(**names)
""",
        submission={"workspace/in/a.txt": "old\n", "artifacts/x": "x"},
        artifacts={
            "publishable": [
                {"id": "tree", "path": "workspace/in", "kind": "tree"},
                {"id": "x", "path": "artifacts/x"},
            ]
        },
        limits={"memory_mb": 64},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {
                "copied": {**row, "workspace": "copy"},
                "plain": row,
                "without": {**row, "artifacts": False},
            },
        },
    )
    assert metrics["copied"]["stdout"] == "old\nran\nnew\n"
    assert "Read-only" in metrics["plain"]["stderr"] or "Permission denied" in metrics["plain"]["stderr"]
    assert "new" not in metrics["plain"]["stdout"]
    assert metrics["without"]["stdout"] == ""
    assert "x" in metrics["copied/artifacts"].split()
    assert "x" not in metrics["without/artifacts"].split()


async def test_a_fresh_name_gives_each_open_process_a_new_host_and_no_exec_may_end_it(scoring, work):
    scored = await scoring(
        """
from scorehost_sdk import ScoringError
def evaluate(inputs):
    s = inputs["scoring"]
    s.exec("work", ["sh", "-c", "echo t > /tmp/x"])
    seen, said = [], []
    for _ in range(2):
        with s.open("work", ["sh", "-c", "cat /tmp/x; echo t > /tmp/x; echo ready; cat"]) as p:
            seen.append(p.read_line(timeout=10))
            for use in (lambda: s.exec("work", ["true"]), lambda: s.open("work", ["true"])):
                try: use()
                except ScoringError as error: said.append(str(error))
            p.send("alive\\n")
            seen.append(p.read_line(timeout=10))
    after = s.exec("work", ["sh", "-c", "cat /tmp/x; true"]).stdout
    return passed(seen=seen, said=said, after=after)
""",
        **work(fresh=True),
    )
    assert scored.result.status == "PASS", (scored.result.error, scored.log)
    metrics = scored.result.metrics
    assert metrics["seen"] == ["ready\n", "alive\n"] * 2
    assert metrics["after"] == ""
    assert len(metrics["said"]) == 4
    assert all("a process is open in work" in text and "close that first" in text for text in metrics["said"])
    assert [host.name for host in scored.result.hosts] == ["evaluator"] + ["work"] * 4


async def test_untrusted_code_is_refused_where_gold_is_and_called_where_none_is(scoring):
    small = {"docker_image": IMAGE, "tmpfs_mb": 16}
    environments = {"with_gold": small, "without": {**small, "gold": False}}
    metrics = await scoring.passing(
        """
from scorehost_sdk import ScoringError, untrusted
def evaluate(inputs):
    call = lambda name: untrusted(inputs["scoring"], name, "artifacts/answer.py", "f")(41)
    try: said = call("with_gold")
    except ScoringError as error: said = str(error)
    return passed(said=said, got=call("without"))
""",
        submission={"artifacts/answer.py": "def f(n): return n + 1"},
        artifacts={"publishable": [{"id": "answer", "path": "artifacts/answer.py"}]},
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16, "environments": environments},
    )
    assert "set `gold: false` in evaluation.environments.with_gold" in metrics["said"]
    assert metrics["got"] == 42
