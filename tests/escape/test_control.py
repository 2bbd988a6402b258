"""The attempts of this suite do what they say: in a container that nothing holds back, they work."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from trial import IMAGE

pytestmark = pytest.mark.docker

ATTACK = Path(__file__).parent / "attack"
RIGHTS = ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN", "NET_RAW", "SYS_NICE", "IPC_LOCK", "SYSLOG", "MKNOD"]
WORK = [
    "a device of the machine's memory made",
    "a file system opened",
    "a folder mounted elsewhere",
    "a higher priority",
    "a key added",
    "a mask taken away",
    "a message queue",
    "a new mount namespace by unshare",
    "a new net namespace by clone",
    "a new uts namespace by clone",
    "a program run from scratch space",
    "a proc mounted",
    "a tmpfs mounted",
    "another address on lo",
    "another personality",
    "another root by chroot",
    "asynchronous contexts, which the machine counts",
    "group 0",
    "more groups",
    "netlink",
    "packets by hand",
    "ping sockets, which count into no memory limit",
    "raw ip",
    "scratch space mounted executable",
    "the host's name",
    "the own net namespace joined again",
    "the resolver changed",
    "tracing at all",
    "user 0",
]


@pytest.fixture(autouse=True)
def nothing_left():
    """The one container is removed by the fixture below, and carries no label of a job."""


@pytest.fixture(scope="module")
def free() -> dict[str, str]:
    """What came of the attempts as root with many rights and no filter, in a container without a network."""
    rights = [f"--cap-add={name}" for name in RIGHTS]
    made = _docker(
        "create",
        "--network=none",
        "--user=0",
        "--security-opt=seccomp=unconfined",
        *rights,
        IMAGE,
        *("python3", "/attack/all.py", "evaluator", "tried-only"),
    )
    try:
        _docker("cp", str(ATTACK), f"{made}:/attack")
        return json.loads(_docker("start", "-a", made))["tried"]
    finally:
        _docker("rm", "-f", made)


def _docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", WORK)
def test_works_where_nothing_forbids(free, name):
    assert not free[name].startswith("refused: ")
