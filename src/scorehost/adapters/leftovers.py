"""Processes of a call that left its group: found by the HOME that only they have, and killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_ROUNDS = 5  # what a process started while it was looked for is found in the next round
_PROC = Path("/proc")


def kill_leftovers(home: str) -> int:
    """Kills every process whose environment has `HOME=home`; how many. Reads /proc; elsewhere it finds none.

    What clears its environment is not found: adapters are trusted, and this only tidies up after them.
    """
    killed = 0
    for _ in range(_ROUNDS):
        found = list(_having(f"HOME={home}".encode()))
        for descriptor in found:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        killed += len(found)
        if not found:
            break
    return killed


def _having(variable: bytes) -> Iterator[int]:
    """Descriptors of the processes: opened before the look, so that a number given anew harms nobody."""
    if not hasattr(os, "pidfd_open") or not _PROC.is_dir():
        return
    for entry in (path.name for path in _PROC.iterdir()):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            descriptor = os.pidfd_open(int(entry))
        except OSError:
            continue
        mine = False
        with contextlib.suppress(OSError):
            mine = variable in (_PROC / entry / "environ").read_bytes().split(b"\0")
        if mine and not _dead(entry):
            yield descriptor
        else:
            os.close(descriptor)


def _dead(entry: str) -> bool:
    try:
        return (_PROC / entry / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True
