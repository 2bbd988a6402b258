"""A submission that would stop whatever starts beside it: the engine keeps its hold of the host."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# Left behind in a session of its own: what an engine starts there begins as a process of this user, and is
# stopped before it becomes the program that it is to be.
DAEMON = """
import ctypes, fcntl, os, signal
libc = ctypes.CDLL(None, use_errno=True)
if os.fork() == 0:
    os.setsid()
    for number in (0, 1, 2):
        os.dup2(os.open("/dev/null", os.O_RDWR), number)
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    wide = ctypes.c_long(1 << 32 | signal.SIGSTOP)
    while True:
        for act in (lambda: os.kill(-1, signal.SIGSTOP),
                    lambda: libc.syscall(62, -1, wide) if os.uname().machine == "x86_64" else None,
                    lambda: fcntl.fcntl(source, 10, int(signal.SIGSTOP))):
            try: act()
            except OSError: pass
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                fcntl.fcntl(source, fcntl.F_SETOWN, int(pid))
                fcntl.fcntl(source, fcntl.F_SETFL, os.O_ASYNC)
                os.write(sink, b"x")
            except OSError: pass
"""
EVALUATOR = f"""
import time
def evaluate(inputs):
    scoring = inputs["scoring"]
    scoring.exec(None, ["python3", "-c", {DAEMON!r}], timeout=10)
    time.sleep(0.5)
    later = [scoring.exec(None, ["echo", "there"], timeout=10) for _ in range(6)]
    return {{"status": "FAIL", "score": 0.25, "metrics": {{"later": [one.timed_out for one in later]}}}}
"""


async def test_what_starts_beside_a_submission_cannot_be_stopped_by_it(tmp_path, job_id):
    root = write_task(tmp_path / "d", EVALUATOR, limits={"memory_mb": 256, "pids": 64})
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert (made.result.status, made.result.score) == ("FAIL", 0.25), (made.result.error, made.log)
    assert made.result.metrics == {"later": [False] * 6}
