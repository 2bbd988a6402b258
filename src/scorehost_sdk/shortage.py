"""Which limit of a host an error comes from, in words: what the system says of it names none."""

from __future__ import annotations

import errno
import os

_WORDS = {
    errno.EAGAIN: "its limit of processes and threads (limits.pids) may be reached",
    errno.EMFILE: "its limit of open files (%d) is reached",
    errno.ENOSPC: "a place in memory is full (tmpfs_mb, or its limit of files)",
    errno.ENOMEM: "its memory is used up (limits.memory_mb)",
}
_THREADS = "can't start new thread"  # CPython's words for EAGAIN


def words(error: BaseException) -> str:
    """` [this host: …]` for an error of the system that a limit brings about; else nothing."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, MemoryError):
        number = errno.ENOMEM
    elif isinstance(error, RuntimeError) and str(error) == _THREADS:
        number = errno.EAGAIN
    if number not in _WORDS:
        return ""
    text = _WORDS[number]
    if "%d" in text:
        text %= os.sysconf("SC_OPEN_MAX")
    return " [this host: %s]" % text
