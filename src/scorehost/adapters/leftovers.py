"""Processes of a call that left its group: found by the HOME or the place that only they have, and killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

_ROUNDS = 5  # what a process started while it was looked for is found in the next round
_PROC = Path("/proc")
_TERMINAL = 4


def kill_leftovers(home: str) -> int:
    """Kills every process whose environment has `HOME=home`, or that stands in the folders of that call and
    has no terminal (a person's shell has one); how many. Reads /proc; elsewhere it finds none.

    What clears its environment and goes elsewhere is not found: adapters are trusted, and this only tidies up
    after them.
    """
    place = str(Path(home).parent)
    killed = 0
    for _ in range(_ROUNDS):
        found = list(_of_call(f"HOME={home}".encode(), place))
        for descriptor in found:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        killed += len(found)
        if not found:
            break
    return killed


def _of_call(variable: bytes, place: str) -> Iterator[int]:
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
        mine = mine or _stands_in(entry, place)
        if mine and not _dead(entry):
            yield descriptor
        else:
            os.close(descriptor)


def _stands_in(entry: str, place: str) -> bool:
    try:
        where = str((_PROC / entry / "cwd").readlink()).removesuffix(" (deleted)")
    except OSError:
        return False
    return (where == place or where.startswith(f"{place}/")) and _stat(entry)[_TERMINAL : _TERMINAL + 1] == [
        b"0"
    ]


def _dead(entry: str) -> bool:
    return _stat(entry)[:1] in ([], [b"Z"], [b"X"])


def _stat(entry: str) -> list[bytes]:
    """The fields of its `stat` after the name: state, parent, group, session, terminal, …"""
    try:
        return (_PROC / entry / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
