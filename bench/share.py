"""How much CPU of a measurement is the in-memory engine's own, with the programs that it plays."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_pipe import MemoryStream
from scorehost.engine.memory_process import Process

_CALLS = (
    (MemoryEngine, ("info", "image", "create", "start", "inspect", "wait", "kill", "remove")),
    (MemoryEngine, ("exec_create", "exec_begun", "exec_exit_code", "list_containers", "list_volumes")),
    (MemoryStream, ("send", "close_stdin", "receive")),
    (Process, ("run",)),
)


class EngineShare:
    """CPU seconds that went into the engine's calls, its streams, and its programs.

    What the event loop needs for waking them is not in it: that counts as the controller's.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Counts while one step of the engine runs; a step inside of another is counted once."""
        if self._inside:
            yield
            return
        self._inside = True
        begun = time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - begun
            self._inside = False


class _Stepped:
    """A coroutine whose steps are counted, and not what others do while it waits."""

    def __init__(self, share: EngineShare, coroutine: Any) -> None:
        self._share, self._coroutine = share, coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._coroutine.__await__()
        step: Callable[[], Any] = functools.partial(next, steps)
        while True:
            try:
                with self._share.counting():
                    awaited = step()
            except StopIteration as ended:
                return ended.value
            try:
                sent = yield awaited
                step = functools.partial(steps.send, sent)
            except BaseException as error:  # noqa: BLE001 - a cancel goes on into the coroutine
                step = functools.partial(steps.throw, error)


@contextmanager
def engine_share() -> Iterator[EngineShare]:
    """Counts from here to the end of the block."""
    share = EngineShare()
    kept: list[tuple[type, str, Any]] = []

    def stepped(call: Any) -> Any:
        async def counted(*given: Any, **more: Any) -> Any:
            return await _Stepped(share, call(*given, **more))

        return counted

    def uploading(call: Any) -> Any:
        async def counted(engine: Any, container: str, path: str, archive: Any) -> Any:
            # What makes the archive is the controller's work: it is done before the engine's is counted.
            whole = archive if isinstance(archive, bytes) or hasattr(archive, "open") else list(archive)
            return await _Stepped(share, call(engine, container, path, whole))

        return counted

    try:
        for owner, names in (*_CALLS, (MemoryEngine, ("upload",))):
            for name in names:
                call = getattr(owner, name)
                kept.append((owner, name, call))
                setattr(owner, name, uploading(call) if name == "upload" else stepped(call))
        yield share
    finally:
        for owner, name, call in kept:
            setattr(owner, name, call)
