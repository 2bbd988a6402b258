"""What a stage leaves is there for the next stage of its host, and for nobody else."""

from __future__ import annotations

import pytest

from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.opening import open_engine
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import IMAGE, bench_for, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# A daemon that holds local names of every kind, and rewrites a file again and again.
LEAVE = r"""
import ctypes, os, socket, time
libc = ctypes.CDLL(None)
for folder in ("/tmp", "/dev/shm", "/attempt/output"):
    open(folder + "/left", "w").write("forged")
assert libc.shmget(0x5C0BE, 64, 0o1666) >= 0
assert libc.msgget(0x5C0BE, 0o1666) >= 0
assert libc.semget(0x5C0BE, 1, 0o1666) >= 0
ready, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for descriptor in (0, 1, 2): os.close(descriptor)
        one = socket.socket(socket.AF_UNIX); one.bind("\0left"); one.listen()
        two = socket.create_server(("127.0.0.1", 4242))
        os.write(tell, b"x")
        while True:
            open("/tmp/new", "w").write("forged")
            os.replace("/tmp/new", "/tmp/answer")  # whole at any moment
            time.sleep(0.01)
    os._exit(0)
os.read(ready, 1)
"""
LOOK = r"""
import ctypes, json, os, socket, time
libc = ctypes.CDLL(None)
def reached(family, address):
    with socket.socket(family) as one:
        return one.connect_ex(address) == 0
try:
    open("/tmp/answer", "w").write("honest")
    time.sleep(0.2)
    answer = open("/tmp/answer").read()
except OSError as error:
    answer = str(error)
print(json.dumps({
    "files": [p for p in ("/tmp/left", "/dev/shm/left", "/attempt/output/left") if os.path.exists(p)],
    "shared": [name for name, rest in (("shmget", [0, 0]), ("msgget", [0]), ("semget", [1, 0]))
               if getattr(libc, name)(0x5C0BE, *rest) >= 0],
    "local": reached(socket.AF_UNIX, "\0left"),
    "loopback": reached(socket.AF_INET, ("127.0.0.1", 4242)),
    "answer": answer,
    "uid": os.getuid(),
}))
"""
EVALUATOR = f"""
import json
LEAVE, LOOK = {LEAVE!r}, {LOOK!r}
def evaluate(inputs):
    scoring = inputs["scoring"]
    def leave(name):
        done = scoring.exec(name, ["python3", "-c", LEAVE])
        print(done.stderr)
        return done.exit_code
    def look(name):
        done = scoring.exec(name, ["python3", "-c", LOOK])
        print(done.stderr)
        return json.loads(done.stdout)
    seen = {{"first": look("work")}}
    assert leave("work") == 0
    seen["same host"] = look("work")
    seen["another host"] = look("other")
    scoring.reset("work")
    seen["after reset"] = look("work")
    assert leave("fresh") == 0
    seen["fresh"] = look("fresh")
    assert leave("other") == 0
    return {{"status": "PASS", "metrics": seen}}
"""
CLEAN = {"files": [], "shared": [], "local": False, "loopback": False, "answer": "honest"}


@pytest.fixture
async def seen(anyio_backend, tmp_path, job_id) -> list[dict]:
    """What two attempts of one job saw, one after the other."""
    hosts = {
        "work": {"docker_image": IMAGE},
        "other": {"docker_image": IMAGE},
        "fresh": {"docker_image": IMAGE, "fresh": True},
    }
    root = write_task(tmp_path / "d", EVALUATOR, evaluation={"environments": hosts})
    dataset = load_dataset(root)
    (task,) = dataset.tasks.values()
    submission = write_submission(tmp_path / "s")
    found = []
    async with open_engine() as engine, bench_for(engine, dataset, job_id, tmp_path / "runs") as bench:
        for repeat in (1, 2):
            key = AttemptKey(task_id="t", submission="s", repeat=repeat)
            place = tmp_path / "runs" / job_id / "attempts" / key.folder
            result = await score(bench, Order(key, Work(task, Sample(submission))), place, lambda *_: None)
            assert result.status == "PASS", (result.error, (place / "logs/evaluator.log").read_text())
            found.append(dict(result.metrics))
    return found


async def test_what_a_stage_leaves_stays_in_its_host_until_reset_or_fresh_and_crosses_to_nobody(seen):
    users = [look.pop("uid") for attempt in seen for look in attempt.values()]
    for attempt in seen:
        left = attempt.pop("same host")
        # Said in the authors' guide: a host without `fresh` is one place for all stages that use it.
        assert left["files"] == ["/tmp/left", "/dev/shm/left", "/attempt/output/left"]
        assert left["shared"] == ["shmget", "msgget", "semget"]
        assert (left["local"], left["loopback"], left["answer"]) == (True, True, "forged")
        assert attempt == dict.fromkeys(("first", "another host", "after reset", "fresh"), CLEAN)
    # first and same host are one host; all others have users of their own.
    assert len(set(users)) == len(users) - 2
