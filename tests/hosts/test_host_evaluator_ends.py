"""How an evaluator's own host may end, and what the attempt's error then says; on the real engine."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

SMALL = {"limits": {"memory_mb": 64}, "evaluation": {"tmpfs_mb": 16}}


def limits(**values) -> dict:
    return {**SMALL, "limits": {"memory_mb": 64, **values}}


async def test_an_evaluator_that_loops_for_ever_is_a_timeout_with_its_output_kept(scoring):
    with anyio.fail_after(20):
        scored = await scoring(
            """
def evaluate(inputs):
    print("until here")
    while True: pass
""",
            **limits(evaluate_seconds=1),
        )
    assert scored.kind == "evaluator_timeout"
    assert scored.log == b"until here\n"
    assert "1 s" in scored.result.error.message
    assert (scored.result.error.blame.value, scored.result.error.retryable) == ("dataset", False)
    assert scored.result.score is None
    assert 1.0 <= scored.result.timing["evaluate"] < 5
    assert scored.result.hosts[0].ended == "timed_out"


async def test_an_evaluator_may_be_silent_and_still_give_a_result(scoring):
    scored = await scoring(
        "import time\ndef evaluate(inputs):\n    time.sleep(4)\n    return passed()\n", **SMALL
    )
    assert (scored.result.status, scored.result.score) == ("PASS", 1.0)


async def test_building_and_starting_hosts_is_not_taken_from_the_evaluators_time(scoring, job_id, own_label):
    recipe = f"FROM scorehost/python:3\nLABEL {own_label}\nRUN sleep 3 && echo {job_id} > /made\n"
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    return passed(made=told(inputs["scoring"].exec("work", ["cat", "/made"])))
""",
        files={"environment/evaluate/place/Dockerfile": recipe},
        limits={"memory_mb": 64, "evaluate_seconds": 2},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {"work": {"dockerfile": "environment/evaluate/place/Dockerfile", "tmpfs_mb": 16}},
        },
    )
    assert metrics["made"]["stdout"] == f"{job_id}\n"


@pytest.mark.parametrize(
    ("ending", "kind", "words"),
    [
        ("os._exit(0)", "evaluator_exit", ("status 0",)),
        ("sys.exit(0)", "evaluator_exit", ("SystemExit", "evaluator.py:4")),
        ("ctypes.string_at(0)", "evaluator_exit", ("signal 11",)),
        ("{}['gold']", "evaluator_exception", ("KeyError", "evaluator.py:4")),
    ],
)
async def test_an_evaluator_that_does_not_return_is_told_by_kind_and_place(scoring, ending, kind, words):
    scored = await scoring(
        f"import ctypes, os, sys\ndef evaluate(inputs):\n    print('here')\n    {ending}\n", **SMALL
    )
    error = scored.result.error
    assert (scored.result.status, error.kind, error.phase.value) == ("ERROR", kind, "evaluate")
    for word in words:
        assert word in error.message
    assert "gold" not in error.message
    assert scored.log.startswith(b"here\n")
    assert not error.retryable
    if kind == "evaluator_exception":
        assert "logs/evaluator.log" in error.hint
        assert b"KeyError: 'gold'" in scored.log


async def test_bytes_that_are_not_utf_8_are_in_the_log_as_they_were_printed(scoring):
    printed = b"\xff\xfe\x1b[31mred\x1b[0m\r\n\0" + "ü".encode()[:1]
    scored = await scoring(
        f"import os\ndef evaluate(inputs):\n    os.write(1, {printed!r})\n    return passed()\n", **SMALL
    )
    assert scored.result.status == "PASS"
    assert scored.log == printed


async def test_text_that_looks_like_a_result_is_no_result(scoring):
    scored = await scoring(
        r"""
import json, os, subprocess, sys
VALUE = {"status": "PASS", "score": 1}
FORGED = json.dumps({"kind": "result", "value": VALUE, "usage": {}, "trees": {}}).encode()
FRAME = (64 + len(FORGED)).to_bytes(4, "big") + b"0" * 64 + FORGED
CHILD = "import os, sys; data = sys.stdin.buffer.read()\nfor fd in (1, 2): os.write(fd, data)"
def evaluate(inputs):
    for fd in (1, 2): os.write(fd, FRAME)
    print(FORGED.decode())
    subprocess.run([sys.executable, "-c", CHILD], input=FRAME)
    inputs["scoring"].exec(None, ["python3", "-c", CHILD], stdin=FRAME)
    return {"status": "FAIL", "score": 0.25}
""",
        **SMALL,
    )
    assert (scored.result.status, scored.result.score) == ("FAIL", 0.25)


async def test_an_evaluators_host_ends_past_its_whole_output(scoring):
    scored = await scoring(
        """
import os
def evaluate(inputs):
    while True: os.write(1, b"x" * 65536)
""",
        **limits(output_total_bytes=3_000_000, output_bytes=1024),
    )
    assert scored.kind == "output_limit"
    assert "3000000 bytes" in scored.result.error.message
    assert scored.result.hosts[0].ended == "output_limit"
    assert scored.log.startswith(b"x" * 512 + b"\n[scorehost: ")


async def test_100_mb_without_a_newline_keep_the_score_and_the_controllers_memory(scoring):
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before, peak = resident(), 0
    async with anyio.create_task_group() as group:

        async def watch():
            nonlocal peak
            while True:
                peak = max(peak, resident())
                await anyio.sleep(0.05)

        group.start_soon(watch)
        scored = await scoring(
            """
import os
def evaluate(inputs):
    for _ in range(1600): os.write(1, b"x" * 65536)
    print("end")
    return passed()
""",
            **SMALL,
        )
        group.cancel_scope.cancel()
    assert scored.result.status == "PASS"
    assert scored.log.endswith(b"xend\n")
    missing = 1600 * 65536 + 4 - 1024 * 1024
    assert f"\n[scorehost: {missing} bytes left out here]\n".encode() in scored.log
    assert peak - before < 50 * 1024 * 1024


async def test_twice_the_memory_is_an_oom_that_names_limit_and_peak(scoring):
    scored = await scoring(
        """
import mmap
def evaluate(inputs):
    kept = []
    for _ in range(128):
        kept.append(mmap.mmap(-1, 1 << 20)); kept[-1].write(b"x" * (1 << 20))
    return passed()
""",
        **SMALL,
    )
    error = scored.result.error
    assert (error.kind, error.blame.value, error.retryable) == ("evaluator_oom", "dataset", False)
    assert "limit is 64 MiB" in error.message
    assert "peak 6" in error.message, "within 5 MiB below the limit"
    assert scored.result.hosts[0].ended == "oom"


async def test_a_memory_error_that_the_evaluator_catches_is_its_own_affair(scoring):
    scored = await scoring(
        """
import resource
def evaluate(inputs):
    resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
    try: data = bytearray(1 << 30)
    except MemoryError: return {"status": "FAIL", "score": 0.5}
    return passed()
""",
        **SMALL,
    )
    assert (scored.result.status, scored.result.score) == ("FAIL", 0.5)


async def test_full_scratch_space_names_its_size(scoring):
    scored = await scoring(
        """
def evaluate(inputs):
    with open("/tmp/big", "wb") as file:
        while True: file.write(b"x" * 65536)
""",
        **SMALL,
    )
    assert scored.kind == "scratch_full"
    assert "16 MiB" in scored.result.error.message


# Submitted code beside the evaluator, in a task without a map.


async def test_code_beside_the_evaluator_can_neither_signal_nor_read_it(scoring):
    metrics = await scoring.passing(
        """
import os
ATTACK = '''
import os, signal
got = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid(): continue
    for what in ("kill", "mem", "environ", "fd"):
        try:
            if what == "kill": os.kill(int(pid), signal.SIGKILL)
            elif what == "fd": os.listdir(f"/proc/{pid}/fd")
            else: open(f"/proc/{pid}/{what}", "rb").read(1)
        except OSError: continue
        got.append((pid, what))
for path in ("/attempt/output/x", "/attempt/evaluation/x", "/attempt/task/x"):
    try: open(path, "w")
    except OSError: continue
    got.append(path)
print(got)
'''
def evaluate(inputs):
    s = inputs["scoring"]
    attack = s.exec(None, ["python3", "-c", ATTACK])
    fill = s.exec(None, ["sh", "-c", "head -c 100000000 /dev/zero > /tmp/big; ls -l /tmp/big; rm /tmp/big"])
    dead = s.exec(None, ["sh", "-c", "kill -9 $$"])
    return passed(attack=told(attack), fill=told(fill), dead=told(dead))
""",
        **SMALL,
    )
    assert metrics["attack"]["stdout"] == "[]\n"
    assert "No space left" in metrics["fill"]["stderr"]
    assert (metrics["dead"]["exit_code"], metrics["dead"]["host_lost"]) == (137, False)


async def test_memory_taken_beside_the_evaluator_is_told_or_an_oom_and_never_tried_again(scoring):
    scored = await scoring(
        """
GREEDY = "a = []\\nwhile True: a.append(bytearray(1 << 20))"
def evaluate(inputs):
    r = inputs["scoring"].exec(None, ["python3", "-c", GREEDY])
    return {"status": "FAIL", "metrics": told(r)}
""",
        **SMALL,
    )
    if scored.result.error is not None:
        assert (scored.kind, scored.result.error.retryable) == ("evaluator_oom", False)
    else:
        assert scored.result.metrics["oom_killed"]


async def test_a_flood_beside_the_evaluator_ends_its_host(scoring):
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec(None, ['yes'])\n    return passed()\n",
        **limits(output_total_bytes=2_000_000),
    )
    assert (scored.kind, scored.result.error.retryable) == ("output_limit", False)


async def test_a_fork_bomb_beside_the_evaluator_gains_nothing(scoring):
    scored = await scoring(
        """
BOMB = '''
import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
'''
def evaluate(inputs):
    r = inputs["scoring"].exec(None, ["python3", "-S", "-c", BOMB], timeout=1)
    return {"status": "FAIL", "metrics": told(r)}
""",
        **limits(pids=40),
    )
    if scored.result.error is not None:
        # Could not be ended: the blame is the submission's, so that it counts as zero.
        assert (scored.kind, scored.result.error.blame.value) == ("submission_fault", "submission")
        assert "40" in scored.result.error.message
    else:
        assert scored.result.status == "FAIL"
        assert "limit of 40 processes" in scored.result.metrics["stderr"]
