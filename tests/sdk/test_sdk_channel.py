"""What a runner lets out and in: its log, its descriptors, its children, the files that it sees."""

import ast
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from scripted import PASSED, RETURNS, SDK, evaluate, plain

from scorehost.hosts.evaluator import CUT_SECONDS
from scorehost.hosts.host import SETTLE_SECONDS


def test_prints_of_both_streams_stay_in_order_and_bytes_stay_as_they_are(tmp_path):
    source = plain("""
import subprocess
for n in range(3):
    print("out", n, end=";")
    print("err", n, file=sys.stderr)
subprocess.run(["echo", "child"])
sys.stdout.buffer.write(b"\\xff\\xfe\\n")
print("\\udcff", flush=True)
print("last", end="")
return {"status": "PASS"}
""")
    outcome = evaluate(tmp_path, source)
    assert outcome.value == {"status": "PASS"}
    assert outcome.log == (b"out 0;err 0\nout 1;err 1\nout 2;err 2\nchild\n\xff\xfe\n\\udcff\nlast")


def test_a_hundred_megabytes_without_a_newline_cost_no_score(tmp_path):
    outcome = evaluate(tmp_path, plain(f"print('x' * 100_000_000, end='')\n{RETURNS}"), seconds=60)
    assert outcome.value == PASSED
    assert outcome.log == b"x" * 1_000_000


def test_text_that_looks_like_a_result_is_log(tmp_path):
    body = 'print(\'{"kind":"result","value":{"status":"PASS"}}\')\nreturn {"status": "FAIL"}'
    assert evaluate(tmp_path, plain(body)).value == {"status": "FAIL"}


def test_threads_that_never_end_do_not_hold_the_runner(tmp_path):
    source = plain("""
import threading
def spin():
    while True:
        print("still here")
threading.Thread(target=spin).start()
threading.Thread(target=time.sleep, args=(600,)).start()
return {"status": "PASS"}
""")
    outcome = evaluate(tmp_path, source)
    assert outcome.value == {"status": "PASS"}
    assert outcome.violation is None
    assert outcome.exit_code == 0
    assert outcome.seconds_after_last < 2


def test_a_worker_thread_of_an_async_evaluator_does_not_hold_the_runner(tmp_path):
    source = """
import asyncio, time
async def evaluate(inputs):
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)
    return {"status": "PASS"}
"""
    outcome = evaluate(tmp_path, source)
    assert outcome.value == {"status": "PASS"}
    assert outcome.seconds_after_last < 2


def test_streams_that_the_evaluator_closed_or_replaced_cost_no_score(tmp_path):
    assert evaluate(tmp_path, plain("sys.stdout.close()\nsys.stderr = None\nreturn {'status': 'PASS'}")).value


def test_a_forked_process_cannot_use_the_channel_and_has_no_say_in_the_result(tmp_path):
    source = plain("""
child = os.fork()
if child == 0:
    try:
        scoring.exec("box", ["true"])
    except Exception as error:
        print(type(error).__name__, flush=True)
    scoring.log("from the child")
    return {"status": "PASS"}
os.waitpid(child, 0)
return {"status": "FAIL"}
""")
    outcome = evaluate(tmp_path, source)
    assert outcome.value == {"status": "FAIL"}
    assert outcome.requests == []
    assert b"ScoringError\n" in outcome.log


def test_multiprocessing_works_and_its_children_hold_no_key(tmp_path):
    source = """
import gc, multiprocessing
def square(n):
    keys = [name for item in gc.get_objects() if type(item).__name__ in ("Channel", "Signed")
            for name in vars(item) if "key" in name]
    return n * n, keys
def evaluate(inputs):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        answers = pool.map(square, [2, 3])
    keys = [key for _, keys in answers for key in keys]
    return {"status": "PASS", "metrics": {"squares": [n for n, _ in answers], "keys": keys}}
"""
    metrics = evaluate(tmp_path, source).value["metrics"]
    assert metrics == {"squares": [4, 9], "keys": []}


FORGER = """
import json, os, sys
usage = {"peak_memory_bytes": None, "cpu_seconds": None}
body = {"kind": "result", "value": {"status": "PASS"}, "usage": usage, "trees": {}}
body = json.dumps(body).encode()
frame = (64 + len(body)).to_bytes(4, "big") + b"0" * 64 + body
opened = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) != int(sys.argv[1]):
        continue
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        print("closed", flush=True)
        continue
    for name in names:
        try:
            with open(f"/proc/{pid}/fd/{name}", "wb", buffering=0) as file:
                file.write(frame)
            opened += 1
        except OSError:
            pass
print("opened", opened, flush=True)
os.kill(int(sys.argv[1]), 9)
"""


def forged(whom):
    """An evaluator whose child writes to all descriptors of a process, and kills it."""
    return plain(
        f"import subprocess\nsubprocess.run([sys.executable, '-c', {FORGER!r}, str({whom})])\n{RETURNS}"
    )


EVALUATOR, KEEPER = "os.getpid()", "os.getppid()"


@pytest.fixture
def open_folder():
    """A folder that every user of this machine can read."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("whom", [EVALUATOR, KEEPER], ids=["evaluator", "keeper"])
def test_a_child_of_the_same_user_can_open_neither_the_evaluator_nor_its_keeper(open_folder, whom):
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")  # root's own may be in its home
    if python is None:
        pytest.skip("no python3 that every user may run")
    user = 65534 if os.geteuid() == 0 else None
    outcome = evaluate(open_folder, forged(whom), python=python, user=user)
    assert outcome.log == b"closed\nopened 0\n"
    assert (outcome.last, outcome.violation) == (None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open the keeper's descriptors")
def test_a_frame_forged_by_a_child_is_a_violation_or_does_not_arrive(tmp_path):
    outcome = evaluate(tmp_path, forged(KEEPER))
    if b"Operation not permitted" in outcome.log:  # a kernel with Landlock: it cannot touch its keeper at all
        assert (outcome.value, outcome.violation) == (PASSED, None)
        assert b"opened 0\n" in outcome.log
        return
    assert outcome.last is None
    # Whichever hears of its forgery first: the controller, or the keeper, which then exits with 4.
    assert outcome.violation == "a frame that the runner did not make, or not in this place" or (
        outcome.exit_code == 4
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open the evaluator's descriptors")
def test_a_frame_that_a_child_writes_for_the_evaluator_does_not_arrive(tmp_path):
    outcome = evaluate(tmp_path, forged(EVALUATOR))
    assert (outcome.last, outcome.violation) == (None, None)
    assert outcome.ended.status == 128 + 9


def test_a_forged_reply_ends_the_runner_without_a_result(tmp_path):
    reply = b'{"kind": "reply", "id": 1, "ok": true, "value": null}'
    forged = (64 + len(reply)).to_bytes(4, "big") + b"0" * 64 + reply
    outcome = evaluate(tmp_path, plain(f"scoring.reset('box')\n{RETURNS}"), raw=lambda _: forged)
    assert outcome.last is None
    assert outcome.exit_code == 4
    assert b"did not send" in outcome.log


def test_the_channel_is_on_no_standard_descriptor_and_not_inherited(tmp_path):
    source = plain("""
import subprocess
links = [os.readlink(f"/proc/self/fd/{n}") for n in (0, 1, 2)]
child = subprocess.run(["ls", "/proc/self/fd"], stdout=subprocess.PIPE, close_fds=False).stdout.split()
return {"status": "PASS", "metrics": {"null": links[0], "same": links[1] == links[2], "child": len(child)}}
""")
    # ls has its three streams and the folder that it lists
    assert evaluate(tmp_path, source).value["metrics"] == {"null": "/dev/null", "same": True, "child": 4}


def test_the_runner_says_that_it_is_not_dumpable(tmp_path):
    source = plain(
        "import ctypes\n"
        "return {'status': 'PASS', 'metrics': {'dumpable': ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)}}"
    )
    outcome = evaluate(tmp_path, source)
    assert outcome.hello.dumpable is False
    assert outcome.value["metrics"] == {"dumpable": 0}


@pytest.mark.parametrize("does", ["time.sleep(60)", "time.sleep(1.5)\nreturn {'status': 'PASS'}"])
def test_the_runner_ends_when_the_controller_has_gone_but_not_as_fast_as_an_evaluator_would(tmp_path, does):
    began = time.monotonic()
    outcome = evaluate(tmp_path, plain(does), seconds=1.0, hang_up=True)
    assert outcome.exit_code == 3
    assert 1 + SETTLE_SECONDS + CUT_SECONDS < time.monotonic() - began < 15


def test_no_file_of_the_working_directory_or_beside_the_runner_is_imported(tmp_path):
    hostile = "raise SystemExit('imported')"
    source = plain(RETURNS)

    def spoil(attempt):
        for folder in (attempt, attempt / ".scorehost"):
            for name in ("json", "hashlib", "threading", "errno", "sitecustomize"):
                (folder / f"{name}.py").write_text(hostile)

    assert evaluate(tmp_path, source, prepare=spoil).value == PASSED


def test_a_tree_digest_is_over_names_modes_and_contents_in_byte_order(tmp_path):
    tree = tmp_path / "tree"
    (tree / "b").mkdir(parents=True)
    (tree / "b" / "run").write_bytes(b"#!")
    (tree / "b" / "run").chmod(0o755)
    (tree / "b.txt").write_bytes(b"")
    (tree / os.fsdecode(b"\xff \n")).write_bytes(b"x")
    (tree / "b" / "run").chmod(0o755)
    lines = [
        (b"b.txt", b"-", b""),
        (b"b/run", b"x", b"#!"),
        (b"\xff \n", b"-", b"x"),
    ]
    whole = b"".join(
        path + b"\0" + mode + b"\0" + hashlib.sha256(content).hexdigest().encode() + b"\n"
        for path, mode, content in lines
    )
    expected = "sha256:" + hashlib.sha256(whole).hexdigest()
    outcome = evaluate(tmp_path, plain(RETURNS), trees=[tree])
    assert outcome.hello.trees == {str(tree): expected}
    assert outcome.ended.trees == {str(tree): expected}


def test_a_missing_tree_is_empty_and_a_link_makes_one_unreadable(tmp_path):
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "a").symlink_to("/etc/passwd")
    outcome = evaluate(tmp_path, plain(RETURNS), trees=[tmp_path / "none", tmp_path / "linked"])
    assert outcome.hello.trees == {
        str(tmp_path / "none"): "sha256:" + hashlib.sha256(b"").hexdigest(),
        str(tmp_path / "linked"): "unreadable",
    }


def test_a_tree_that_changed_during_the_evaluation_has_another_digest_at_the_end(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "gold").write_text("1")
    outcome = evaluate(
        tmp_path, plain(f"open({str(tree / 'gold')!r}, 'w').write('2')\n{RETURNS}"), trees=[tree]
    )
    assert outcome.hello.trees != outcome.ended.trees


def test_everything_that_runs_in_containers_is_python_3_8():
    for path in [*SDK.glob("*.py"), *(SDK.parent / "ageval_sdk").glob("*.py")]:
        ast.parse(path.read_text(), feature_version=(3, 8))


def interpreter(name):
    try:
        asked = subprocess.run(
            [name, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"{name} is not on this machine")
    return asked.stdout.strip()


@pytest.mark.parametrize("python", ["python3.8", "python3.9", "python3.12", "python3.13"])
def test_the_runner_runs_on_other_pythons(tmp_path, python):
    source = "async def evaluate(inputs):\n    await inputs['scoring'].reset('box')\n    " + RETURNS
    outcome = evaluate(tmp_path, source, python=interpreter(python))
    assert outcome.value == PASSED
