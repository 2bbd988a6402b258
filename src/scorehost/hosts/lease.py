"""Who owns what is on the engine: a lease that tells a living job from a dead one."""

from __future__ import annotations

import functools
import os
import socket
from enum import Enum
from pathlib import Path

from scorehost.model.frozen import Frozen


class Standing(Enum):
    """What a lease says when it is read."""

    ALIVE = "alive"
    DEAD = "dead"
    FOREIGN = "foreign"  # of another machine or pid namespace: nothing can be said from here


class Lease(Frozen):
    """The process that owns a container. Pids are reused: its start (ticks after boot) tells two apart."""

    machine: str
    boot: str
    pid_namespace: str
    pid: int
    start_ticks: int

    def __str__(self) -> str:
        return f"{self.machine}:{self.boot}:{self.pid_namespace}:{self.pid}:{self.start_ticks}"

    @classmethod
    def parse(cls, text: str) -> Lease | None:
        """The lease in a label, or None when the label was not made by scorehost."""
        parts = text.split(":")
        if len(parts) != 5 or not (parts[3].isdigit() and parts[4].isdigit()):  # noqa: PLR2004 - five fields
            return None
        return cls(
            machine=parts[0],
            boot=parts[1],
            pid_namespace=parts[2],
            pid=int(parts[3]),
            start_ticks=int(parts[4]),
        )

    def standing(self) -> Standing:
        """Whether the owner lives, as seen from this process."""
        here = own_lease()
        if self.machine != here.machine:
            return Standing.FOREIGN
        if self.boot != here.boot:
            return Standing.DEAD
        if self.pid_namespace != here.pid_namespace:
            return Standing.FOREIGN
        return Standing.ALIVE if _start_ticks(self.pid) == self.start_ticks else Standing.DEAD


@functools.cache
def own_lease() -> Lease:
    """The lease of this process."""
    return Lease(
        machine=_first_line("/etc/machine-id") or socket.gethostname().replace(":", "_"),
        boot=_first_line("/proc/sys/kernel/random/boot_id"),
        pid_namespace=_pid_namespace(),
        pid=os.getpid(),
        start_ticks=_start_ticks(os.getpid()) or 0,
    )


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name may hold spaces and parentheses: fields are counted from the last one.
    fields = text.rpartition(")")[2].split()
    # One that has ended and waits for its parent to notice (Z, X) owns nothing any more.
    return None if fields[0] in "ZX" else int(fields[19])
