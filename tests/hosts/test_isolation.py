"""What a scoring host cannot do, each tried from inside on the real engine."""

from __future__ import annotations

import json

import pytest

from scorehost.engine.opening import open_engine
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

# Runs in any host; prints one JSON object of what it sees.
LOOK = r"""
import ctypes, json, os, socket
def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return line.split()[1]
def tried(do):
    try:
        do()
        return "worked"
    except OSError as error:
        return error.errno
def connect(family, address):
    def do():
        s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(2); s.connect(address)
    return do
libc = ctypes.CDLL(None, use_errno=True)
def mount():
    if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None): raise OSError(ctypes.get_errno(), "mount")
def unshare():
    if libc.unshare(0x10000000): raise OSError(ctypes.get_errno(), "unshare")
writable_disk = []
memory = {"tmpfs", "proc", "sysfs", "cgroup", "cgroup2", "mqueue", "devpts"}
for line in open("/proc/self/mountinfo"):
    left, _, right = line.partition(" - ")
    target, kind = left.split()[4], right.split()[0]
    device = os.lstat(target).st_dev
    for folder, folders, _ in os.walk(target):
        if os.lstat(folder).st_dev != device:
            folders[:] = []
            continue
        try:
            name = os.path.join(folder, ".probe"); open(name, "w").close(); os.unlink(name)
            if kind not in memory: writable_disk.append((folder, kind))
            else: break
        except OSError: pass
        if kind in ("proc", "sysfs", "cgroup", "cgroup2"): break
print(json.dumps({
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "routes": open("/proc/net/route").read().count("\n") - 1,
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "cap_eff": status("CapEff"), "cap_bnd": status("CapBnd"), "no_new_privs": status("NoNewPrivs"),
    "root": tried(lambda: open("/probe", "w")),
    "gold": tried(lambda: open("/attempt/evaluation/gold.txt", "a")),
    "artifact": tried(lambda: open("/attempt/artifacts/answer.txt", "a")),
    "planted": tried(lambda: open("/attempt/artifacts/planted", "w")),
    "code": tried(lambda: open("/attempt/task/evaluator.py", "a")),
    "mount": tried(mount), "unshare": tried(unshare), "setuid": tried(lambda: os.setuid(0)),
    "sysctl": tried(lambda: open("/proc/sys/kernel/hostname", "w").write("x")),
    "ipv4": tried(connect(socket.AF_INET, ("192.0.2.1", 80))),
    "ipv6": tried(connect(socket.AF_INET6, ("2001:db8::1", 80))),
    "engine": tried(connect(socket.AF_UNIX, "/var/run/docker.sock")),
    "writable_disk": writable_disk,
    "env": dict(os.environ), "cwd": os.getcwd(), "tmp": tried(lambda: open("/tmp/x", "w")),
    "hosts": open("/etc/hostname").read().strip(),
}))
"""

EVALUATOR = """
import subprocess, sys
LOOK = %r
def evaluate(inputs):
    seen = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    named = inputs["scoring"].exec("work", ["python3", "-c", LOOK])
    print(seen.stderr, named.stderr)
    return {"status": "PASS", "metrics": {"evaluator": seen.stdout, "named": named.stdout}}
"""


async def looked(tmp_path, job_id, monkeypatch) -> dict[str, dict]:
    monkeypatch.setenv("SCOREHOST_SENTINEL", "sentinel-of-the-controller")
    root = write_task(
        tmp_path / "d",
        EVALUATOR % LOOK,
        evaluation={"environments": {"work": {"docker_image": IMAGE}}},
    )
    async with open_engine() as engine:
        scored = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert scored.result.status == "PASS", (scored.result.error, scored.log)
    return {name: json.loads(text) for name, text in scored.result.metrics.items()}


async def test_a_host_sees_no_network_no_rights_and_no_way_to_write_outside_of_memory(
    tmp_path, job_id, monkeypatch
):
    for name, seen in (await looked(tmp_path, job_id, monkeypatch)).items():
        assert seen["interfaces"] == ["lo"], name
        assert seen["routes"] == 0
        assert seen["uid"] >= 1 << 20
        assert seen["gid"] >= 1 << 20
        assert seen["groups"] in ([], [seen["gid"]])
        assert int(seen["cap_eff"], 16) == 0
        assert int(seen["cap_bnd"], 16) == 0
        assert seen["no_new_privs"] == "1"
        for refused in (
            "root",
            "gold",
            "artifact",
            "planted",
            "code",
            "mount",
            "unshare",
            "setuid",
            "sysctl",
        ):
            assert seen[refused] != "worked", (name, refused)
        for unreachable in ("ipv4", "ipv6", "engine"):
            assert seen[unreachable] != "worked", (name, unreachable)
        assert seen["writable_disk"] == [], name
        assert seen["tmp"] == "worked"
        assert seen["cwd"] == "/attempt"
        assert seen["hosts"] == "host"


async def test_nothing_of_the_controllers_environment_reaches_a_host(tmp_path, job_id, monkeypatch):
    for seen in (await looked(tmp_path, job_id, monkeypatch)).values():
        assert "sentinel-of-the-controller" not in json.dumps(seen["env"])
        assert {"HOME", "TMPDIR", "TZ", "LC_ALL", "PYTHONHASHSEED"} <= set(seen["env"])
        assert not [name for name in seen["env"] if name.startswith("LD_") or name.lower().endswith("_proxy")]


async def test_evaluator_and_exec_are_different_users(tmp_path, job_id, monkeypatch):
    seen = await looked(tmp_path, job_id, monkeypatch)
    assert seen["evaluator"]["uid"] != seen["named"]["uid"]


GOLDLESS = """
SEARCH = r'''
import os
found = []
needle = b"sentinel-" + b"of-the-gold"
for top in "/attempt /tmp /dev/shm /etc /home /opt /root /run /srv /var /proc/1".split():
    for folder, folders, files in os.walk(top):
        if folder.startswith("/proc/1/") : folders[:] = []
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as stream:
                    if needle in stream.read(1 << 20): found.append(path)
            except OSError: pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try:
            if needle in open(f"/proc/{pid}/{name}", "rb").read(): found.append(f"{pid}/{name}")
        except OSError: pass
print(found, os.path.exists("/attempt/evaluation"), os.path.exists("/attempt/task"))
'''
def evaluate(inputs):
    scoring = inputs["scoring"]
    with_gold = scoring.exec("open", ["grep", "-rl", "sentinel-of-the-gold", "/attempt"])
    without = scoring.exec("closed", ["python3", "-c", SEARCH])
    print(without.stderr)
    return {"status": "PASS", "metrics": {"open": with_gold.stdout, "closed": without.stdout}}
"""


async def test_a_host_without_gold_holds_none_of_it_anywhere(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        GOLDLESS,
        gold={"truth/gold.txt": b"sentinel-of-the-gold"},
        evaluation={
            "environments": {
                "open": {"docker_image": IMAGE},
                "closed": {"docker_image": IMAGE, "gold": False},
            }
        },
    )
    async with open_engine() as engine:
        scored = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert scored.result.status == "PASS", (scored.result.error, scored.log)
    assert "/attempt/evaluation/truth/gold.txt" in scored.result.metrics["open"]
    assert scored.result.metrics["closed"].strip() == "[] False False"
