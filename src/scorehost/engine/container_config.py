"""The body of a create request: what the hosts layer asks for, and what is the same for every container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scorehost.engine.door import Tmpfs
from scorehost.engine.seccomp import profile
from scorehost.errors import EngineRefused
from scorehost.model.limits import INODES_PER_MIB, MIB

if TYPE_CHECKING:
    from scorehost.engine.door import ContainerSpec

NANO = 1_000_000_000
# The engine kills scoring hosts before anything else of its machine when memory runs out.
OOM_SCORE = 500
NOBODY_RESOLVES = "127.0.0.1"
# A name that nobody knows is looked up once, for a second: programs that read this by themselves (musl) would
# wait for five.
ASKED_ONCE = ("timeout:1", "attempts:1", "ndots:0")
HOSTNAME = "host"
# The engine's /etc/hosts says that localhost is ::1 too, so `lo` has to have it.
LOOPBACK_SIX = "net.ipv6.conf.all.disable_ipv6"
# What engines mask by themselves, of any version, and what is left to write there: pressure triggers act on
# the whole machine, and anybody may set them.
MASKED = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
)
# Memory that no limit of the container counts (locked pages, message queues) and core dumps are shut off.
ULIMITS = (("core", 0), ("memlock", 0), ("msgqueue", 0))


def container_config(
    spec: ContainerSpec, *, default_runtime: str, loopback_six: bool = False
) -> dict[str, Any]:
    """The JSON body for /containers/create; `loopback_six`: the kernel knows IPv6.

    EngineRefused (status 400) for a variable that cannot be set.
    """
    limits = (("nofile", spec.open_files), *ULIMITS)
    hosts_file = not (spec.network or spec.names_itself)  # whether the engine writes one for a lone `lo`
    user = f"{spec.user}:{spec.user}"
    labels = dict(spec.labels)
    return {
        "Image": spec.image,
        "Cmd": list(spec.command),
        "Entrypoint": [],
        "User": user,
        "WorkingDir": spec.workdir,
        "Env": environment(spec),
        "Labels": labels,
        "Hostname": HOSTNAME,
        "Healthcheck": {"Test": ["NONE"]},
        # The OCI runtime then makes the empty network by itself, in half the time that the engine takes for a
        # whole start; but nobody writes /etc/hosts and /etc/resolv.conf (ADR 0014).
        "NetworkDisabled": spec.names_itself and spec.network is None,
        "Tty": False,
        "OpenStdin": spec.stdin,
        "StdinOnce": spec.stdin,
        "AttachStdin": spec.stdin,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": {
            "NetworkMode": spec.network or "none",
            "Dns": [] if spec.network else [NOBODY_RESOLVES],
            "DnsOptions": [] if spec.network else list(ASKED_ONCE),
            "ExtraHosts": [f"{HOSTNAME}:127.0.0.1"] if hosts_file else [],
            "Sysctls": {LOOPBACK_SIX: "0"} if hosts_file and loopback_six else {},
            "ReadonlyRootfs": True,
            "MaskedPaths": list(MASKED),
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges", f"seccomp={profile(file_locks=spec.file_locks)}"],
            "IpcMode": "private",
            "CgroupnsMode": "private",
            "Init": True,
            "Memory": spec.memory,
            "MemorySwap": spec.memory,  # equal: no swap
            "NanoCpus": round(spec.cpus * NANO),
            "PidsLimit": spec.pids,
            "Ulimits": [{"Name": name, "Soft": value, "Hard": value} for name, value in limits],
            "OomScoreAdj": OOM_SCORE,
            "LogConfig": {"Type": "none"},
            "Runtime": spec.runtime or default_runtime,
            "Tmpfs": {place.target: tmpfs_options(place) for place in (shared_memory(spec), *spec.tmpfs)},
            # No source: an anonymous volume of the container, which goes when the container goes.
            "Mounts": [
                {"Type": "volume", "Target": path, "VolumeOptions": {"NoCopy": True, "Labels": labels}}
                for path in spec.volumes
            ],
        },
    }


def environment(spec: ContainerSpec) -> list[str]:
    """The Env rows: NAME=VALUE, and a bare NAME, by which the engine takes the image's variable away."""
    for name in (*spec.env, *spec.cleared_env):
        if not name or "=" in name or "\0" in name:
            raise EngineRefused(
                f"The environment variable {name!r} of {spec.name} has no usable name.",
                status=400,
                hint="A name holds no '=' and no NUL, and is not empty.",
            )
    values = [f"{name}={value}" for name, value in spec.env.items()]
    return values + [name for name in spec.cleared_env if name not in spec.env]


def shared_memory(spec: ContainerSpec) -> Tmpfs:
    """Shared memory as a place of ours: the engine's own has no limit on inodes."""
    return Tmpfs("/dev/shm", spec.shm, inodes=max(1, spec.shm // MIB) * INODES_PER_MIB)  # noqa: S108 - in the host


def tmpfs_options(place: Tmpfs) -> str:
    """Mount options of a writable place in memory, all of its limits spelled out."""
    execute = "exec" if place.executable else "noexec"
    return (
        f"rw,nosuid,nodev,{execute},size={place.size},nr_inodes={place.inodes},"
        f"mode={place.mode:04o},uid={place.uid},gid={place.uid}"
    )
