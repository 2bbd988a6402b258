"""Ends of programs that only the real engine has: cancelled, held open, killed unseen, never begun."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.anyio]


async def test_an_exec_that_its_evaluator_no_longer_awaits_is_ended_and_the_next_use_is_clean(scoring, work):
    scored = await scoring(
        """
import asyncio
async def evaluate(inputs):
    s = inputs["scoring"]
    await s.exec("work", ["touch", "/tmp/mark"])
    try: await asyncio.wait_for(s.exec("work", ["sleep", "600"]), 1)
    except asyncio.TimeoutError: pass
    after = await asyncio.wait_for(s.exec("work", ["ls", "/tmp"]), 20)
    return passed(after=told(after))
""",
        **work(),
    )
    assert scored.kind is None, (scored.result.error, scored.log)
    after = scored.result.metrics["after"]
    assert (after["exit_code"], after["stdout"], after["host_lost"]) == (0, "", False)
    assert [host.ended for host in scored.result.hosts] == ["removed", "cut_off", "removed"]


async def test_an_exec_beside_the_evaluator_that_is_cancelled_leaves_no_process(scoring):
    metrics = await scoring.passing(
        """
import asyncio
LEFT = '''
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if os.stat("/proc/" + pid).st_uid == os.getuid() and int(pid) != os.getpid(): print(pid)
    except OSError: pass
'''
async def evaluate(inputs):
    s = inputs["scoring"]
    try: await asyncio.wait_for(s.exec(None, ["sh", "-c", "sleep 600 & sleep 600"]), 1)
    except asyncio.TimeoutError: pass
    return passed(left=told(await s.exec(None, ["python3", "-c", LEFT])))
""",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16},
    )
    assert (metrics["left"]["exit_code"], metrics["left"]["stdout"]) == (0, "")


async def test_a_program_that_ended_while_its_child_holds_the_output_is_not_timed_out(scoring, work):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    held = s.exec("work", ["sh", "-c", "sleep 600 & echo said; exit 3"], timeout=4)
    return passed(held=told(held), after=told(s.exec("work", ["echo", "same"])))
""",
        **work(),
    )
    assert (metrics["held"]["exit_code"], metrics["held"]["stdout"]) == (3, "said\n")
    assert not metrics["held"]["timed_out"]
    assert metrics["after"]["stdout"] == "same\n"


async def test_a_daemon_that_ends_its_host_between_two_execs_hides_no_file(scoring, work):
    scored = await scoring(
        """
import time
from scorehost_sdk import HostLost
DAEMON = '''
import os, time
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(0.5)
    while True:
        if os.fork() == 0:
            with open("/proc/self/oom_score_adj", "w") as file: file.write("1000")
            a = []
            while True: a.append(bytearray(1 << 20))
        os.wait()
'''
def evaluate(inputs):
    s = inputs["scoring"]
    s.exec("work", ["touch", "/tmp/forbidden"])
    s.exec("work", ["python3", "-S", "-c", DAEMON])
    time.sleep(SECONDS)
    seen = s.exec("work", ["test", "-e", "/tmp/forbidden"])
    return {"status": "FAIL" if seen.exit_code == 0 else "PASS"}
""".replace("SECONDS", "15"),
        **work(),
    )
    assert (scored.result.status, scored.kind) == ("ERROR", "evaluator_exception"), scored.log
    assert b"HostLost: the host work ended between two uses (it ran out of memory)" in scored.log
    assert any("ended between two uses" in text for text in scored.result.warnings)


async def test_a_place_that_is_not_in_the_image_is_the_datasets_fault_before_anything_is_told(scoring, work):
    scored = await scoring(
        'def evaluate(inputs):\n    inputs["scoring"].exec("work", ["true"])\n', **work(workdir="/no/such")
    )
    assert scored.kind == "image_unusable"
    assert "/no/such" in scored.result.error.message
    assert "work" in scored.result.error.message
    hint = "Make /no/such in a recipe of the image, or give work another `workdir`."
    assert scored.result.error.hint == hint


async def test_an_open_process_says_apart_that_its_program_is_not_there(scoring, work):
    metrics = await scoring.passing(
        """
from scorehost_sdk import ScoringError
def evaluate(inputs):
    s = inputs["scoring"]
    with s.open("work", ["no-such-program"]) as p:
        printed = p.receive(timeout=10).decode()
        end = p.wait(timeout=10)
    try:
        with s.open("work", ["true"], workdir="/no/such") as p: p.wait(timeout=10)
    except ScoringError as error: said = str(error)
    with s.open("work", ["sh", "-c", "echo OCI runtime exec failed; exit 126"]) as p: own = p.wait(timeout=10)
    return passed(printed=printed, end=told(end), said=said, own=told(own))
""",
        **work(),
    )
    assert (metrics["printed"], metrics["end"]["exit_code"]) == ("", 127)
    assert "could not be started" in metrics["said"]
    assert (metrics["own"]["exit_code"], metrics["own"]["stdout"]) == (126, "OCI runtime exec failed\n")


async def test_a_script_whose_first_line_ends_in_crlf_is_told_why_it_is_not_found(scoring, work):
    await scoring.passing(
        r"""
def evaluate(inputs):
    exec_ = inputs["scoring"].exec
    made = exec_("work", ["sh", "-c", r"printf '#!/bin/sh\r\necho hi\n' > /tmp/a.sh && chmod 755 /tmp/a.sh"])
    assert made.ok, made.stderr
    ran = exec_("work", ["/tmp/a.sh"])
    assert not ran.ok and "if /tmp/a.sh is there" in ran.stderr and "CRLF" in ran.stderr, ran
    return {"status": "PASS", "metrics": {}}
""",
        **work(tmpfs_exec=True),
    )
