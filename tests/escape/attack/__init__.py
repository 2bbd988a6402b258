"""Attempts to get out of a scoring host, by name. Runs inside a host, with the standard library alone.

An attempt is refused when it raises one of the errors that it names; everything else that it does means
that something gave way. `OBSERVED` holds what is seen rather than tried.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

DENIED = ("EPERM", "EACCES", "ENOSYS")
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Attempt:
    """One thing that a host must not be able to do, and where that holds."""

    act: Callable[[], object]
    refusals: tuple[str, ...]
    places: tuple[str, ...]


NAMED, EVALUATOR, BESIDE = "named", "evaluator", "beside"
PLACES = (NAMED, EVALUATOR, BESIDE)  # who tries: a named host's exec, the evaluator's user, an exec beside it
NOT_ONES_OWN = (NAMED, BESIDE)  # what concerns the host's main process is tried by who is not its user

ATTEMPTS: dict[str, Attempt] = {}
OBSERVED: dict[str, Callable[[], object]] = {}


def attempt(
    name: str, *refusals: str, places: tuple[str, ...] = PLACES
) -> Callable[..., Callable[[], object]]:
    """Registers a function as an attempt; `refusals` are names of errors, DENIED when none are given."""

    def register(act: Callable[[], object]) -> Callable[[], object]:
        assert name not in ATTEMPTS, name
        ATTEMPTS[name] = Attempt(act, refusals or DENIED, places)
        return act

    return register


def observation(name: str) -> Callable[..., Callable[[], object]]:
    """Registers a function whose JSON value is reported."""

    def register(look: Callable[[], object]) -> Callable[[], object]:
        OBSERVED[name] = look
        return look

    return register


def call(number: int, *arguments: object) -> int:
    """One system call by its number (x86-64). Raises OSError."""
    done = LIBC.syscall(ctypes.c_long(number), *(_word(argument) for argument in arguments))
    if done == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done


def _word(argument: object) -> object:
    if argument is None:
        return ctypes.c_void_p(0)
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def tried(one: Attempt) -> str:
    """What came of an attempt, made in a child: some change who or where their process is."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sink, refused(one.act, one.refusals).encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(sink)
    with open(source, "rb") as answer:
        said = answer.read().decode("utf-8", "replace")
    status = os.waitpid(child, 0)[1]
    return said or f"gave way: its process ended with {status}"


def refused(act: Callable[[], object], refusals: tuple[str, ...]) -> str:
    """`refused` with the error's name, or what gave way."""
    try:
        value = act()
    except OSError as error:
        known = errno.errorcode.get(error.errno or 0, "") if (error.errno or 0) > 0 else ""
        name = type(error).__name__ if isinstance(error, socket.gaierror) else known
        return f"refused: {name}" if name in refusals else f"gave way with {name} ({error})"
    except ValueError as error:  # what Python makes of a refused setrlimit
        return "refused: ValueError" if "ValueError" in refusals else f"gave way with {error}"
    return f"gave way: {value!r}"[:500]


def in_child(act: Callable[[], object]) -> int:
    """The wait status of a child that runs `act` and exits 0; 1 when it raises."""
    child = os.fork()
    if child == 0:
        try:
            act()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def others() -> list[int]:
    """Processes that are neither this one nor an ancestor of it of the same user."""
    own, me = os.getuid(), os.getpid()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(name) != me and os.stat(f"/proc/{name}").st_uid != own:
                found.append(int(name))
        except OSError:
            continue
    return sorted(found)


def of_each(pids: list[int], act: Callable[[int], object]) -> None:
    """Tries `act` on every process; raises the last refusal, or FileNotFoundError when there was none."""
    if not pids:
        raise FileNotFoundError(errno.ENOENT, "nobody else is here")
    last = OSError(0, "")
    for pid in pids:
        try:
            act(pid)
        except OSError as error:
            last = error
        else:
            return
    raise last
