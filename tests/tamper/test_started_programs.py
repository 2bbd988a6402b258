"""A program that an evaluator starts, in whatever way, forges no PASS: one job of all ways.

The program has the evaluator's user. It writes over gold that is unpickled afterwards, over code, and into
every process that it can reach: by /proc, process_vm_writev, ptrace, their descriptors and shared memory.
"""

from __future__ import annotations

import pickle

import anyio
import pytest

from given import given
from scorehost import api
from trial import write_task

pytestmark = pytest.mark.docker

PROGRAM = r"""
import ctypes, json, os, signal, sys
libc = ctypes.CDLL(None)
print("forged", flush=True)
PASS = json.dumps({"kind": "result", "value": {"status": "PASS", "score": 1.0}}).encode()
FRAMES = [(len(PASS) + 1).to_bytes(4, "big") + b"r" + PASS, b"q" * 64, len(PASS).to_bytes(4, "big") + PASS]
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def tried(act, *args):
    try: act(*args)
    except Exception: pass
def into_memory(pid):
    for line in open("/proc/%d/maps" % pid):
        words = line.split()
        if words[1].startswith("rw"):
            start, end = (int(word, 16) for word in words[0].split("-"))
            held = ctypes.create_string_buffer(b"\xff" * 64)
            own, other = Piece(ctypes.addressof(held), 64), Piece(start, 64)
            libc.process_vm_writev(pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)
            with open("/proc/%d/mem" % pid, "r+b", buffering=0) as memory:
                memory.seek(start)
                memory.write(b"\xff" * 64)
def into_descriptors(pid):
    for name in os.listdir("/proc/%d/fd" % pid):
        descriptor = os.open("/proc/%d/fd/%s" % (pid, name), os.O_WRONLY | os.O_NONBLOCK)
        for frame in FRAMES: tried(os.write, descriptor, frame)
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    if pid in (os.getpid(), os.getppid()): continue  # the evaluator itself is the author's own
    libc.ptrace(16, pid, 0, 0)
    for act in (into_memory, into_descriptors): tried(act, pid)
for name in os.listdir("/dev/shm"): tried(os.unlink, "/dev/shm/" + name)
evil = b"cbuiltins\neval\n(V{'answer': 'forged'}\ntR."
own = b"import scorehost_sdk.trees as t\nt.Tree.digest = lambda s: s._digest\ndef check(x): return True\n"
for path, data in (("/attempt/evaluation/gold.pkl", evil), ("/attempt/task/lib/late.py", own),
                   ("/attempt/.scorehost/scorehost_sdk/trees.py", own)):
    tried(os.chmod, path, 0o644)
    tried(lambda: open(path, "wb").write(data))
"""
EVALUATOR = """
{start}
import os as _os, pickle, sys as _sys
from pathlib import Path
def evaluate(inputs):
    out = Path(inputs["output_dir"], "out.txt")
    program = inputs["artifacts"]["answer"]
    command = f"python3 {{program}} > {{out}}"
    words = [_sys.executable, program]
    run(command, words, str(out))
    gold = pickle.loads(Path(inputs["evaluation_dir"], "gold.pkl").read_bytes())
    from lib.late import check
    said = out.read_text().strip() if out.exists() else ""
    return {{"status": "PASS" if said == gold["answer"] or check(said) else "FAIL"}}
"""
INTO = """
import os
def into(out, words):
    sink = os.open(out, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(sink, 1)
    os.execv(words[0], words)
"""
STARTS = {
    "from-os": "from os import system\nrun = lambda command, words, out: system(command)",
    "os-as-o": "import os as o\nrun = lambda command, words, out: o.system(command)",
    "getattr": "import os\nrun = lambda command, words, out: getattr(os, 'sys' + 'tem')(command)",
    "ctypes": "import ctypes\nrun = lambda command, words, out: ctypes.CDLL(None).system(command.encode())",
    "importlib": """
import importlib
run = lambda command, words, out: importlib.import_module("o" + "s").popen(command).read()
""",
    "dunder-import": "run = lambda command, words, out: __import__('subprocess').run(command, shell=True)",
    "posix": "import posix\nrun = lambda command, words, out: posix.system(command)",
    "sys-modules": "import sys\nrun = lambda command, words, out: sys.modules['posix'].system(command)",
    "spawn": """
import os
run = lambda command, words, out: os.spawnvp(os.P_WAIT, "sh", ["sh", "-c", command])
""",
    "posix-spawn": """
import os
def run(command, words, out):
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", command], dict(os.environ)), 0)
""",
    "multiprocessing": INTO + """
import multiprocessing
def run(command, words, out):
    child = multiprocessing.get_context("fork").Process(target=into, args=(out, words))
    child.start()
    child.join()
""",
    "c-fork": INTO + """
import ctypes
def run(command, words, out):
    pid = ctypes.CDLL(None).fork()
    if pid == 0:
        into(out, words)
    os.waitpid(pid, 0)
""",
    "pty": """
import os, pty
def run(command, words, out):
    pid, way = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", command])
    os.waitpid(pid, 0)
""",
    "signal": """
import os, signal, time
def run(command, words, out):
    signal.signal(signal.SIGALRM, lambda *_: os.system(command))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    time.sleep(1)
""",
    "atexit": """
import os, threading
def run(command, words, out):
    thread = threading.Thread(target=os.system, args=(command,))
    thread.start()
    thread.join()
""",
    "asyncio": """
import asyncio
def run(command, words, out):
    async def wait():
        await (await asyncio.create_subprocess_shell(command)).wait()
    asyncio.run(wait())
""",
    "shared-memory": """
import os
from multiprocessing import shared_memory
def run(command, words, out):
    held = shared_memory.SharedMemory(create=True, size=4096)
    os.system(command)
    held.close()
""",
}  # fmt: skip


def test_a_program_started_in_whatever_way_forges_no_pass(tmp_path):
    for name, start in STARTS.items():
        root = write_task(
            tmp_path / "d",
            EVALUATOR.format(start=start),
            task_id=name,
            gold={"gold.pkl": pickle.dumps({"answer": "the real answer"})},
            artifacts={"publishable": [{"id": "answer", "path": "artifacts/answer.py"}]},
            limits={"evaluate_seconds": 20, "memory_mb": 128, "pids": 64},
        )
        late = root / "tasks" / name / "lib/late.py"
        late.parent.mkdir()
        late.write_text("def check(x): return x == 'the real answer'\n")
        path = tmp_path / "hand-ins/evil" / name / "artifacts/answer.py"
        path.parent.mkdir(parents=True)
        path.write_text(PROGRAM)
    options = given(dataset=root, out=tmp_path / "runs", submissions_dir=tmp_path / "hand-ins")
    outcome = anyio.run(api.run, *options, lambda _: None)
    ended = {row.key.task_id: (row.status, row.error and row.error.kind) for row in outcome.rows}
    # The program did run, and changed what it may not: that is found out, and counts as the lowest score.
    assert ended == dict.fromkeys(STARTS, ("ERROR", "changed_input"))
    assert outcome.summary["submissions"]["evil"]["mean_score"] == 0
