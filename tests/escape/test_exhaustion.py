"""A host that takes all that it can get fills its own limits only: no disk, no other host."""

from __future__ import annotations

import json
import subprocess

import anyio
import pytest

from scorehost.engine.opening import open_engine
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

MIB = 1024 * 1024

# Children take one kind of thing each until they are refused, then hold what they have.
HOG = r"""
import array, ctypes, errno, fcntl, json, os, select, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def checked(value):
    if value < 0: raise OSError(ctypes.get_errno(), "")
    return value

def inotify(kept): checked(libc.inotify_init1(0))
def epoll(kept): kept.append(select.epoll())
def pipes(kept):
    kept.append(os.pipe())
    fcntl.fcntl(kept[-1][1], 1031, 1 << 20)
def segments(kept): checked(libc.shmget(0, 4096, 0o1600))
def queues(kept):
    name = checked(libc.msgget(0, 0o1600))
    text = ctypes.create_string_buffer(b"\1" + b"\0" * 8 + b"x" * 512)
    checked(libc.msgsnd(name, text, 512, 0o4000))
def semaphores(kept): checked(libc.semget(0, 1, 0o1600))
def terminals(kept): kept.append(os.openpty())
def sockets(kept):
    kept += socket.socketpair()
def files(kept):
    kept.append(os.open(f"/tmp/{len(kept)}", os.O_CREAT)); os.close(kept[-1])
def shared(kept): open("/dev/shm/all", "ab", 0).write(bytes(1 << 20))
def processes(kept):
    child = os.fork()
    if child == 0: time.sleep(60); os._exit(0)

KINDS = (inotify, epoll, pipes, segments, queues, semaphores, terminals, sockets, files, shared, processes)
stops = {}
for take in KINDS:
    source, sink = os.pipe()
    if os.fork() == 0:
        kept, made = [], 0
        try:
            while made < 600_000: take(kept); made += 1
            word = "no end"
        except OSError as error:
            word = errno.errorcode[error.errno]
        os.write(sink, json.dumps([word, made]).encode())
        os.close(sink)
        time.sleep(60)
        os._exit(0)
    os.close(sink)
    stops[take.__name__] = json.loads(os.read(source, 100) or '["killed", 0]')
print(json.dumps(stops), flush=True)
time.sleep(60)
"""

# Uses a little of each.
PEER = r"""
import ctypes, fcntl, os, select, socket
libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_init1(0) >= 0
select.epoll()
reading, writing = os.pipe()
assert fcntl.fcntl(writing, 1031, 1 << 20) == 1 << 20
assert os.write(writing, b"x" * (1 << 20)) == 1 << 20
for made in (libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 250, 0o1600)):
    assert made >= 0
os.openpty()
for number in range(1000): open(f"/tmp/{number}", "w").close()
open("/dev/shm/some", "wb").write(bytes(1 << 20))
children = [os.fork() or os._exit(0) for _ in range(20)]
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
listener = socket.create_server(("127.0.0.1", 0))
ours = socket.create_connection(listener.getsockname())
theirs, _ = listener.accept()
theirs.sendall(b"hello")
assert ours.recv(5) == b"hello"
print("all there")
"""
EXHAUST = f"""
import json
HOG = {HOG!r}
PEER = {PEER!r}
def evaluate(inputs):
    scoring = inputs["scoring"]
    with scoring.open("hog", ["python3", "-c", HOG]) as hog:
        stops = json.loads(hog.read_line(60))
        peer = scoring.exec("peer", ["python3", "-c", PEER])
    print(peer.stderr)
    return {{"status": "PASS", "metrics": {{"stops": stops, "peer": peer.stdout}}}}
"""
ENDS = {
    "inotify": {"EMFILE"},
    "epoll": {"EMFILE"},
    "pipes": {"EMFILE", "EPERM"},
    "segments": {"ENOSPC", "ENOMEM"},
    "queues": {"ENOSPC", "ENOMEM"},
    "semaphores": {"ENOSPC", "ENOMEM"},
    "terminals": {"EMFILE", "ENOSPC"},
    "sockets": {"EMFILE"},
    "files": {"ENOSPC"},
    "shared": {"ENOSPC"},
    "processes": {"EAGAIN"},
}


async def test_a_host_that_takes_all_of_everything_leaves_another_unaffected(tmp_path, job_id):
    environment = {"docker_image": IMAGE, "tmpfs_mb": 16}
    root = write_task(
        tmp_path / "d",
        EXHAUST,
        limits={"memory_mb": 512, "pids": 64},
        evaluation={"environments": {"hog": environment, "peer": {**environment}}},
    )
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.status == "PASS", (done.result.error, done.log)
    assert done.result.metrics["peer"] == "all there\n", done.log
    stops = done.result.metrics["stops"]
    assert {kind: stop for kind, stop in stops.items() if stop[0] not in ENDS[kind]} == {}
    assert set(stops) == set(ENDS)
    assert stops["files"][1] <= 16 * 256
    assert stops["shared"][1] == 16
    assert stops["processes"][1] < 64


FILL = r"""
import os
written = 0
for line in open("/proc/self/mountinfo"):
    top = line.split()[4]
    if top.startswith(("/proc", "/sys")) or not os.path.isdir(top): continue
    for folder, folders, _ in os.walk(top):
        folders[:] = [name for name in folders if not os.path.ismount(os.path.join(folder, name))]
        try:
            with open(folder + "/fill", "wb", 0) as file:
                while True: written += file.write(bytes(1 << 20))
        except OSError: continue
print(written)
"""
FILLER = f"""
FILL = {FILL!r}
def evaluate(inputs):
    full = inputs["scoring"].exec("work", ["python3", "-c", FILL])
    inputs["scoring"].exec("work", ["sleep", "2"])
    return {{"status": "PASS", "metrics": {{"written": int(full.stdout)}}}}
"""


async def test_a_host_that_writes_wherever_it_can_fills_memory_of_its_own_and_no_disk(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        FILLER,
        limits={"memory_mb": 512},
        evaluation={"environments": {"work": {"docker_image": IMAGE, "tmpfs_mb": 32, "shm_mb": 16}}},
    )
    sizes: list[int] = []

    async def watch() -> None:
        while True:
            sizes.extend(await anyio.to_thread.run_sync(on_disk, job_id))
            await anyio.sleep(0.3)

    async with open_engine() as engine, anyio.create_task_group() as group:
        group.start_soon(watch)
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
        group.cancel_scope.cancel()
    # /tmp, /attempt/output and /dev/shm, to the last page.
    assert done.result.metrics["written"] == (32 + 32 + 16) * MIB, done.log
    assert len(sizes) > 3
    assert max(sizes) < MIB


def on_disk(job: str) -> list[int]:
    """Bytes of the writable layer and of the volumes, of each named host of the job that is there."""
    listing = [
        "docker",
        "ps",
        "-q",
        "--filter",
        f"label=scorehost.job={job}",
        "--filter",
        "label=scorehost.host=work",
    ]
    found = []
    for name in subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split():
        told = subprocess.run(["docker", "inspect", "-s", name], capture_output=True, text=True, check=False)
        if told.returncode:
            continue
        (row,) = json.loads(told.stdout)
        found.append(row["SizeRw"] + sum(_size(mount["Source"]) for mount in row["Mounts"]))
    return found


def _size(folder: str) -> int:
    done = subprocess.run(["du", "-sb", folder], capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0]) if done.returncode == 0 else 0
