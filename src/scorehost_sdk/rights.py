"""What the processes of an evaluator's host give up or take on, by prctl and (where there is it) Landlock."""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # numbers that are the same on every architecture
_VERSION = 1  # the flag that asks for the version of Landlock
_SCOPES_SINCE = 6
_SCOPE_SIGNAL = 1 << 1
_SOONER = 20  # thousandths of the host's memory


def close_memory() -> bool:
    """Shuts other processes of this user out of this one's memory and descriptors; whether that worked."""
    return _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> bool:
    """Makes this process the parent of all that its children leave behind; whether that worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def open_places(paths: List[str]) -> None:
    """Lets every user write at places in memory that belong to this one.

    Memory laid over a folder of an image has that folder's mode, often 0755.
    """
    for path in paths:
        try:
            os.chmod(path, 0o1777)  # noqa: S103 - as /tmp has it
        except OSError:
            continue


def die_first() -> None:
    """When memory runs out, of processes of one size this one and its children are killed before the keeper.

    Only a little sooner: what an exec beside them holds must still count for more. To be called while the
    memory is open, since the kernel's file is root's afterwards.
    """
    try:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            score = min(1000, int(file.read()) + _SOONER)
            file.write(b"%d" % score)
    except (OSError, ValueError):
        return  # then the larger one is killed, which is hardly ever the keeper


def confine() -> bool:
    """Takes away from this process and its children the right to signal, or to look into, any other process.

    It needs Landlock of version 6 (Linux 6.12). Without it a child of the evaluator can end or stop its
    keeper, which is then missed; it still cannot speak for it.
    """
    try:
        import ctypes  # noqa: PLC0415

        syscall = ctypes.CDLL(None).syscall
        number: Any = ctypes.c_long
        if syscall(number(_CREATE_RULESET), None, number(0), number(_VERSION)) < _SCOPES_SINCE:
            return False
        rules = struct.pack("QQQ", 0, 0, _SCOPE_SIGNAL)
        descriptor = syscall(number(_CREATE_RULESET), rules, number(len(rules)), number(0))
        if descriptor < 0:
            return False
        done = syscall(number(_RESTRICT_SELF), number(descriptor), number(0))
        os.close(descriptor)
        return bool(done == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _prctl(option: int, value: int) -> bool:
    try:
        import ctypes  # noqa: PLC0415 - an image's python3 may come without it

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False
