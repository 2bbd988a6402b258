"""Memory of this process, as the kernel tells it: at its highest since a moment, and after a collection."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def settled() -> float:
    """Resident memory after garbage was collected, MiB."""
    gc.collect()
    return _field("VmRSS:")


def forget_peak() -> None:
    """Lets `peak` count from now on. Where the kernel does not take it, `peak` is that of the whole life."""
    with contextlib.suppress(OSError):
        _RESET.write_text("5")


def peak() -> float:
    """The most that was resident since `forget_peak`, MiB."""
    return _field("VmHWM:")


def _field(name: str) -> float:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0
