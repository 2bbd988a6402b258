"""Runs evaluator.py inside the evaluator host, in a child of the process that keeps the channel.

What each of the two may do, and what they say to the controller: docs/architecture.md.
"""

# ruff: noqa: E402, PLC0415 - the order of imports is a matter of safety here, and of start-up time
from __future__ import annotations

import sys

_HERE = __file__.rpartition("/")[0] or "."
# Before any other import: a file beside this one, or in the working directory, must not stand for a module of
# the standard library.
sys.path[:] = [entry for entry in sys.path if entry not in ("", ".", _HERE)]

import errno
import faulthandler
import hashlib  # noqa: F401 - from here on: what the SDK needs, before a folder of this host is on the path
import hmac  # noqa: F401
import io
import json  # noqa: F401
import os
import select  # noqa: F401
import signal  # noqa: F401
import struct  # noqa: F401
import threading  # noqa: F401
import time  # noqa: F401
from _socket import AF_UNIX, SO_PASSCRED, SOCK_STREAM, SOL_SOCKET, socketpair  # `socket` takes 3 ms more

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, NoReturn, Optional, Tuple

    from scorehost_sdk.channel import Channel

_ROOT = os.path.dirname(os.path.abspath(_HERE))
_TASK = os.path.join(_ROOT, "task")


def _take_streams() -> Tuple[int, int]:
    """Moves the channel away from descriptors 0 and 1, and points both streams of Python at the log."""
    source, sink = os.dup(0), os.dup(1)  # not inherited by programs that this process starts
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    # One buffer for both keeps their order.
    log = io.BufferedWriter(io.FileIO(2, "wb", closefd=False))
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            log, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True
        )
        setattr(sys, name, stream)
        setattr(sys, "__" + name + "__", stream)
    faulthandler.enable(2)
    return source, sink


def _argument(channel: Channel, start: Dict[str, Any], waits: bool) -> Any:
    """What the task's function is given: `inputs`, or the context of the run phase."""
    from scorehost_sdk import present

    inputs = start["inputs"]
    present.link, present.phase = channel, start["phase"]
    if start["phase"] == "run":
        from scorehost_sdk.context import context

        return context(channel, inputs, waits, _ROOT)
    from scorehost_sdk.checks import tell_by
    from scorehost_sdk.returned import RowBudget
    from scorehost_sdk.scoring import AsyncScoring, Scoring

    budget = RowBudget(start["limits"])

    def tell(row: Dict[str, Any]) -> None:
        for each in budget.plain(row):
            channel.post({"kind": "check", "row": each})

    tell_by(tell)
    flavour = AsyncScoring if waits else Scoring
    names = tuple(start["environments"])
    inputs["scoring"] = flavour(channel, names, start["single"], start["gold"], start["any_name"])
    if start["roles"]:
        from scorehost_sdk.agents import Agent, AsyncAgent

        inputs["agent"] = (AsyncAgent if waits else Agent)(channel, start["roles"], start["environments"])
    return inputs


def _evaluate(channel: Channel, start: Dict[str, Any]) -> Any:
    from importlib import import_module

    module, _, name = start["entrypoint"].partition(":")
    function = getattr(import_module(module), name)
    from scorehost_sdk.flavour import is_coroutine_function

    waits = is_coroutine_function(function)
    given = _argument(channel, start, waits)
    value = function(given)
    if waits or hasattr(value, "__await__"):
        value = _awaited(value)
    if start["phase"] != "run":
        return value
    from scorehost_sdk.context import finished

    finished(given, value, _ROOT)
    return {}


def _awaited(value: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await value

    # Not asyncio.run: its end waits for threads and tasks that the evaluator left behind.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(wait())


def _place(error: BaseException) -> str:
    """`evaluator.py:LINE` of the innermost frame of the task's own code, or ''."""
    place = ""
    if isinstance(error, SyntaxError) and str(error.filename).startswith(_TASK + "/"):
        return f"{str(error.filename)[len(_TASK) + 1 :]}:{error.lineno or 0}"
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_TASK + "/"):
            place = f"{file[len(_TASK) + 1 :]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _kind(error: BaseException) -> Tuple[str, str]:
    from scorehost_sdk.faults import SubmissionFault, UnknownEnvironment

    if getattr(error, "raised_by_submission", False) is True or isinstance(error, SubmissionFault):
        return "submission_fault", "the submitted code broke its call"
    if isinstance(error, UnknownEnvironment):
        return "unknown_environment", "the evaluator asked for a scoring environment that there is not"
    if isinstance(error, MemoryError):
        return "evaluator_oom", "the evaluator ran out of memory"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and not _is_closed(error.filename):
        return "scratch_full", "the evaluator ran out of scratch space"
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "evaluator_exit", "the evaluator ended instead of returning a result"
    return "evaluator_exception", "the evaluator raised an exception"


def _is_closed(path: Any) -> bool:
    """Whether nothing may be written at a path: then it was no lack of space that forbade it."""
    path = os.path.abspath(path) if isinstance(path, str) else ""
    return path.startswith(_ROOT + "/") and not path.startswith(_ROOT + "/output/")


def _agent_kind(error: BaseException) -> Optional[Tuple[str, str]]:
    from scorehost_sdk import faults

    ours = (faults.AdapterFault, faults.LimitReached, faults.ReplyError)
    if isinstance(error, ours) and error.kind in faults.AGENT_KINDS:
        return error.kind, f"the evaluator did not catch that a call of an agent failed ({error.kind})"
    return None


def _failure(error: BaseException, who: str) -> Dict[str, Any]:
    """The `error` of a `failed` frame, and the traceback in the log."""
    from scorehost_sdk.returned import Rejected, type_name
    from scorehost_sdk.shortage import words

    if isinstance(error, Rejected):
        return {"kind": error.kind, "type": "", "place": "", "message": error.text[:2000]}
    try:
        import traceback

        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # how the runner came there says nothing to the author
        traceback.print_exception(type(error), error, trace)
    except BaseException as trouble:  # noqa: BLE001 - an exception may refuse to be printed, or be too large
        os.write(2, b"scorehost: the traceback could not be printed: %s\n" % type(trouble).__name__.encode())
    while len(getattr(error, "exceptions", ())) == 1:  # a group of one: a task group of an async evaluator
        error = error.exceptions[0]  # type: ignore[attr-defined]
    kind, text = _agent_kind(error) or _kind(error)
    name, place = type_name(type(error)), _place(error)[:1000]
    where = f" at {place}" if place else ""
    text = f"{text}: {name}{where}{words(error)}".replace("the evaluator", who, 1)
    return {"kind": kind, "type": name, "place": place, "message": text}


def _main() -> NoReturn:
    source, sink = _take_streams()
    sys.path[:0] = [os.path.join(_ROOT, ".scorehost")]
    # Now: who waits for an attempt has them ready, and an evaluator may use up memory or descriptors.
    import scorehost_sdk.shortage  # noqa: F401
    from scorehost_sdk.keeper import keep
    from scorehost_sdk.signed import Signed

    keepers, evaluators = socketpair(AF_UNIX, SOCK_STREAM)
    keepers.setsockopt(SOL_SOCKET, SO_PASSCRED, 1)
    # Before the key comes: the child has never held it.
    child = os.fork()
    if child:
        evaluators.close()
        keep(Signed(source, sink), keepers, child, _ROOT)
    keepers.close()
    os.close(source)
    os.close(sink)
    _evaluating(evaluators.detach())


def _evaluating(descriptor: int) -> NoReturn:
    """The child: waits for the task, evaluates it, tells what came of it, and ends."""
    from scorehost_sdk import rights
    from scorehost_sdk.channel import Channel
    from scorehost_sdk.returned import checked

    own = os.getpid()
    os.setsid()  # an evaluator that ends its process group does not end its keeper
    rights.die_first()
    rights.close_memory()
    rights.confine()
    channel = Channel(descriptor)
    start = channel.start()
    if start["fed"]:
        sys.dont_write_bytecode = False  # the place is full by now
    sys.path[1:1] = [_TASK]
    try:
        value = _evaluate(channel, start)
        value = {} if start["phase"] == "run" else checked(value, start["limits"])
        replies = sys.modules.get("scorehost_sdk.replies")
        misread = bool(replies is not None and replies.misread)
        last = {"kind": "result", "value": value, "misread": misread}
    except BaseException as error:  # noqa: BLE001 - whatever ended the evaluator is told, not raised
        if os.getpid() == own:
            who = "run.py" if start["phase"] == "run" else "the evaluator"
            last = {"kind": "failed", "error": _failure(error, who)}
    if os.getpid() != own:
        os._exit(1)  # a process that the evaluator forked came back here: it has no say in the result
    streams: Dict[int, Any] = {id(item): item for item in (sys.stdout, sys.stderr, sys.__stderr__)}
    for stream in streams.values():
        try:
            stream.flush()
        except Exception:  # noqa: BLE001, S112 - replaced or closed by the evaluator: its own loss
            continue
    channel.finish(last)
    os._exit(0)  # threads that the evaluator left behind do not hold it


if __name__ == "__main__":
    _main()
