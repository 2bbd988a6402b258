"""One attempt for each runtime in which everything is tried; tests look at what came of it."""

from __future__ import annotations

import functools
import io
import json
import secrets
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
import yaml

from scorehost.engine.opening import open_engine
from scorehost.model.ids import new_job_id
from trial import IMAGE, score_one, write_submission, write_task

ATTACK = Path(__file__).parent / "attack"
GOLD = b"sentinel-of-" + b"the-gold"

PRIVILEGED = f"""
FROM {IMAGE}
RUN cp /usr/bin/id /usr/bin/setuid-id && chmod 4755 /usr/bin/setuid-id \\
 && cp /usr/bin/id /usr/bin/setgid-id && chmod 2755 /usr/bin/setgid-id \\
 && cp /usr/bin/cat /usr/bin/capable-cat && python3 -c "import os, struct; \\
    os.setxattr('/usr/bin/capable-cat', 'security.capability', \\
    struct.pack('<IIIII', 0x02000001, 0x200086, 0, 0, 0))"
"""

# Runs in a host beside the attacked one, and holds names that must not be seen from there.
HOLD = """
import ctypes, os, socket
one = socket.socket(socket.AF_UNIX); one.bind("\\0scorehost-escape"); one.listen()
libc = ctypes.CDLL(None)
assert libc.shmget(0x5C0BE, 64, 0o1666) >= 0
assert libc.msgget(0x5C0BE, 0o1666) >= 0
assert libc.semget(0x5C0BE, 1, 0o1666) >= 0
for folder in ("/dev/shm", "/tmp"):
    open(folder + "/scorehost-escape", "w").close()
print("ready", flush=True)
os.read(0, 1)
"""
ANSWER = {"id": "answer", "path": "artifacts/answer.txt"}
MAPPED = f"""
import json, subprocess, sys
HOLD = {HOLD!r}
ALL = ["python3", "/attempt/artifacts/code/attack/all.py"]
def evaluate(inputs):
    scoring = inputs["scoring"]
    with scoring.open("other", ["python3", "-c", HOLD]) as hold:
        assert hold.read_line(30) == "ready\\n", hold.stderr
        named = scoring.exec("closed", [*ALL, "named"])
    own = subprocess.run([*ALL, "evaluator"], capture_output=True, text=True)
    print(named.stderr, own.stderr)
    seen = {{"named": json.loads(named.stdout), "evaluator": json.loads(own.stdout)}}
    return {{"status": "PASS", "metrics": seen}}
"""
SINGLE = """
import json
def evaluate(inputs):
    done = inputs["scoring"].exec(None, ["python3", "/attempt/artifacts/code/attack/all.py", "beside"])
    print(done.stderr)
    return {"status": "PASS", "metrics": {"beside": json.loads(done.stdout)}}
"""
# All of it in one file: a host that takes no folders is fed over the channel.
FED = SINGLE.replace("code/attack/all.py", "attack.pyz").replace('"beside": json', '"fed": json')
ONE_FILE = {"publishable": [{"id": "attack", "path": "artifacts/attack.pyz"}, ANSWER]}
ARTIFACTS = {
    "publishable": [
        {"id": "attack", "path": "artifacts/code", "kind": "tree"},
        ANSWER,
    ]
}
LIMITS = {"exec_seconds": 100, "memory_mb": 256}


@functools.cache
def runtimes() -> tuple[str, ...]:
    """The runtimes that the engine lists; whether one starts a container is seen when it is used."""
    command = ["docker", "info", "--format", "{{json .Runtimes}}"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        return tuple(sorted(json.loads(told.stdout) or {})) or ("runc",)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ("runc",)


def starts(runtime: str) -> str:
    """Why a runtime starts no container; empty when it does."""
    command = ["docker", "run", "--rm", "--network=none", f"--runtime={runtime}", IMAGE, "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


@pytest.fixture(scope="session")
def privileged() -> Iterator[str]:
    """An image with programs that would give rights."""
    tag = f"scorehost-test/privileged:{secrets.token_hex(8)}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Dockerfile").write_text(PRIVILEGED)
        made = subprocess.run(
            ["docker", "build", "-q", "--network=none", "-t", tag, folder],
            capture_output=True,
            text=True,
            check=False,
        )
    assert made.returncode == 0, made.stderr
    yield tag
    subprocess.run(["docker", "rmi", "-f", tag], capture_output=True, check=False)


def attack_files() -> dict[str, bytes]:
    """The attack as artifacts of a submission, as a folder and as one file."""
    single = io.BytesIO()
    with zipfile.ZipFile(single, "w") as archive:
        archive.writestr("__main__.py", "from attack.all import main\nmain()\n")
        for path in ATTACK.glob("*.py"):
            archive.write(path, f"attack/{path.name}")
    folder = {f"artifacts/code/attack/{path.name}": path.read_bytes() for path in ATTACK.glob("*.py")}
    return {**folder, "artifacts/attack.pyz": single.getvalue(), "artifacts/answer.txt": b"42"}


@dataclass
class Found:
    """What came of everything: by runtime, then place (where runtimes that start nothing are left out)."""

    seen: dict[str, dict[str, dict]]
    idle: dict[str, str]  # runtimes that start no container, with the reason
    root: Path

    def observed(self, name: str) -> dict[str, object]:
        """`runtime/place` -> the value of one observation."""
        return {
            f"{runtime}/{place}": said["observed"][name]
            for runtime, places in self.seen.items()
            for place, said in places.items()
        }


@pytest.fixture(scope="session")
def found(privileged, tmp_path_factory) -> Found:
    """Everything tried in every place on every runtime, once."""
    folder = tmp_path_factory.mktemp("escape")
    idle = {name: reason for name in runtimes() if (reason := starts(name))}
    seen = {name: attacked(folder / name, name, privileged) for name in runtimes() if name not in idle}
    return Found(seen, idle, folder)


def attacked(folder: Path, runtime: str, image: str) -> dict[str, dict]:
    """What each place saw and tried: place -> {observed, tried}."""

    async def scored(evaluator: str, name: str, artifacts: dict, **evaluation) -> dict:
        root = write_task(
            folder / name,
            evaluator,
            gold={"gold.txt": GOLD},
            artifacts=artifacts,
            limits=LIMITS,
            evaluation=evaluation,
        )
        profiles = {
            "format": "scorehost.profiles/1",
            "environment": "docker",
            "evaluate_host": {"runtime": runtime},
        }
        (root / "profiles.yaml").write_text(yaml.safe_dump(profiles))
        submission = write_submission(folder / f"{name}-s", attack_files())
        job = new_job_id()
        async with open_engine() as engine:
            done = await score_one(engine, root, submission, job, folder / f"{name}-runs")
            label = {"scorehost.job": job}
            assert [*await engine.list_containers(label), *await engine.list_volumes(label)] == []
        assert done.result.status == "PASS", (done.result.error, done.log[-3000:])
        return dict(done.result.metrics)

    mapped = {
        "environments": {
            "closed": {"docker_image": image, "gold": False},
            "other": {"docker_image": image},
        },
        "evaluator_environment": "other",
    }
    return (
        anyio.run(lambda: scored(MAPPED, "mapped", ARTIFACTS, **mapped))
        | anyio.run(lambda: scored(SINGLE, "single", ARTIFACTS, docker_image=image))
        | anyio.run(lambda: scored(FED, "fed", ONE_FILE, docker_image=image))
    )
