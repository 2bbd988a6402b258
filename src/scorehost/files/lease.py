"""Who owns what is on the engine: a lease that tells a living job from a dead one."""

from __future__ import annotations

import functools
import os
import re
import socket
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_MARK = "+"  # FAT, exFAT and NTFS take no colon in a name
_WRITTEN = re.compile(r"([^:]*):([^:]*):([^:]*):([0-9]{1,20}):([0-9]{1,20})")


class Standing(Enum):
    """What a lease says when it is read."""

    ALIVE = "alive"
    DEAD = "dead"
    FOREIGN = "foreign"  # of another machine or pid namespace: nothing can be said from here


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that owns a container. Pids are reused: its start (ticks after boot) tells two apart."""

    machine: str
    boot: str
    pid_namespace: str
    pid: int
    start_ticks: int

    def __str__(self) -> str:
        return f"{self.machine}:{self.boot}:{self.pid_namespace}:{self.pid}:{self.start_ticks}"

    @property
    def mark(self) -> str:
        """The same as a part of a file's name that every file system takes; `parse` reads it back."""
        return str(self).replace(":", _MARK)

    @classmethod
    def parse(cls, text: str) -> Lease | None:
        """The lease in a label or a mark, or None when it was not made by scorehost."""
        found = _WRITTEN.fullmatch(text) or _WRITTEN.fullmatch(text.replace(_MARK, ":"))
        if found is None:
            return None
        machine, boot, pid_namespace, pid, start_ticks = found.groups()
        return cls(
            machine=machine,
            boot=boot,
            pid_namespace=pid_namespace,
            pid=int(pid),
            start_ticks=int(start_ticks),
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
        return Standing.ALIVE if start_ticks(self.pid) == self.start_ticks else Standing.DEAD


@functools.cache
def own_lease() -> Lease:
    """The lease of this process."""
    return Lease(
        machine=_first_line("/etc/machine-id") or socket.gethostname().replace(":", "_"),
        boot=_first_line("/proc/sys/kernel/random/boot_id"),
        pid_namespace=_pid_namespace(),
        pid=os.getpid(),
        start_ticks=start_ticks(os.getpid()) or 0,
    )


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """When a process started, in ticks since the machine did (proc(5), field 22); None when it is dead."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name may hold spaces and parentheses: fields are counted from the last one.
    fields = text.rpartition(")")[2].split()
    # One that has ended and waits for its parent to notice (Z, X) owns nothing any more.
    return None if fields[0] in "ZX" else int(fields[19])
