"""Kernel memory that no limit of a host counts is refused; a database gets its locks where a task asks."""

from __future__ import annotations

import pytest

from scorehost.engine.opening import open_engine
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# What each way of holding such memory is answered, and what of daily use still works.
TRIES = r"""
import errno, fcntl, json, os, socket, sqlite3, struct
def lock(command):
    kind = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
    with open("/tmp/l", "w") as file: fcntl.fcntl(file, command, kind)
def lease():
    with open("/tmp/r", "w"): pass
    with open("/tmp/r") as file: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
def flock():
    with open("/tmp/f", "w") as file: fcntl.flock(file, fcntl.LOCK_EX)
def urgent(family):
    with socket.socket(family) as listening:
        listening.bind("" if family == socket.AF_UNIX else ("127.0.0.1", 0)); listening.listen()
        with socket.socket(family) as one:
            one.connect(listening.getsockname()); one.sendall(b"x"); one.send(b"x", socket.MSG_OOB)
def database():
    connection = sqlite3.connect("/tmp/some.db")
    connection.execute("create table t (a)"); connection.commit()
TRIED = {
    "netlink": lambda: socket.socket(16, socket.SOCK_RAW, 0),
    "setlk": lambda: lock(fcntl.F_SETLK), "setlkw": lambda: lock(fcntl.F_SETLKW),
    "ofd": lambda: lock(37), "ofdw": lambda: lock(38),
    "lease": lease, "notify": lambda: fcntl.fcntl(os.open("/tmp", os.O_RDONLY), fcntl.F_NOTIFY, 1),
    "urgent": lambda: urgent(socket.AF_UNIX), "urgent tcp": lambda: urgent(socket.AF_INET),
    "flock": flock, "localhost": lambda: socket.getaddrinfo("localhost", 80), "database": database,
}
said = {}
for name, act in TRIED.items():
    try: act(); said[name] = "done"
    except OSError as error: said[name] = errno.errorcode[error.errno]
    except sqlite3.Error as error: said[name] = str(error)
print(json.dumps(said))
"""
EVALUATOR = f"""
import json
TRIES = {TRIES!r}
def evaluate(inputs):
    said = {{name: inputs["scoring"].exec(name, ["python3", "-c", TRIES]) for name in ("plain", "locking")}}
    return {{"status": "PASS", "metrics": {{name: json.loads(one.stdout) for name, one in said.items()}}}}
"""
REFUSED = ("netlink", "lease", "notify", "urgent", "urgent tcp")
LOCKS = ("setlk", "setlkw", "ofd", "ofdw")
WORKS = ("flock", "localhost")


async def test_locks_of_parts_of_files_and_other_uncounted_memory_are_refused(tmp_path, job_id):
    plain = {"docker_image": IMAGE, "tmpfs_mb": 16}
    environments = {"plain": plain, "locking": {**plain, "file_locks": True}}
    root = write_task(tmp_path / "d", EVALUATOR, evaluation={"environments": environments})
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.status == "PASS", (done.result.error, done.log)
    everywhere = dict.fromkeys(REFUSED, "EPERM") | dict.fromkeys(WORKS, "done")
    assert done.result.metrics == {
        "plain": everywhere | dict.fromkeys(LOCKS, "EPERM") | {"database": "access permission denied"},
        "locking": everywhere | dict.fromkeys((*LOCKS, "database"), "done"),
    }
