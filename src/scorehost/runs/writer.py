"""The one thread that writes what a job keeps: in order, off the event loop, one wait of the disk for many.

What waits for the disk is a generator that gives what has to be durable before it goes on. All that are under
way take a step each, then one round of syncs serves them all.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from scorehost.errors import DiskTrouble
from scorehost.files.atomic import disk_trouble
from scorehost.files.durable import durable_or_not

T = TypeVar("T")
Steps = Generator[Iterable[str | int], None, T]
"""Gives paths and descriptors that must be on disk before its next step; its value is that of the work."""

LAZY_SECONDS = 0.05  # how long a line of the journal that nobody waits for may wait for others
CLOSE_SECONDS = 30.0  # for what is still to be written at the end


@dataclass(slots=True)
class _Work:
    steps: Steps[Any]
    ended: Callable[[Any, BaseException | None], None]  # called in the event loop
    awaited: bool = True  # else only a failure is told: to wake the loop costs more than a line


class Writer:
    """Writes for one event loop. `folder` is where, for messages. Made by `open_writer`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        self._turn = threading.Condition()
        self._queue: list[_Work] = []
        self._urgent = self._closed = self._working = False
        self._thread = threading.Thread(target=self._run, name="scorehost-writer", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Ends once what it was given is done."""
        with self._turn:
            self._closed = True
            self._turn.notify()

    @property
    def busy(self) -> bool:
        """Whether anything is still to be written."""
        with self._turn:
            return self._working or bool(self._queue)

    def post(
        self,
        call: Callable[[], object],
        failed: Callable[[BaseException], None],
        *,
        lazy: bool = False,
    ) -> None:
        """Has `call` done after all that was asked before; nobody waits. `failed` is called in the loop.

        `lazy`: it may wait a moment for more to come, since to wake a thread costs more than a line.
        """

        def ended(_value: object, error: BaseException | None) -> None:
            if error is not None:
                failed(error)

        self._put(_Work(_plain(call), ended, awaited=False), lazy=lazy)

    async def do(self, call: Callable[[], T]) -> T:
        """What `call` gives, done after all that was asked before. Raises what it raises; OSError as
        DiskTrouble.
        """
        return await self.durable(_plain(call))

    async def durable(self, steps: Steps[T]) -> T:
        """What `steps` come to, once the disk has all that they gave. Raises as `do`.

        A cancel leaves them to the thread, which does them all the same.
        """
        done = anyio.Event()
        came: list[tuple[Any, BaseException | None]] = []

        def ended(value: Any, error: BaseException | None) -> None:
            came.append((value, error))
            done.set()

        self._put(_Work(steps, ended), lazy=False)
        await done.wait()
        value, error = came[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def _put(self, work: _Work, *, lazy: bool) -> None:
        with self._turn:
            if self._closed:
                raise DiskTrouble(f"Nothing is written into {self._folder} any more: the job has ended.")
            first = not self._queue
            self._queue.append(work)
            if not lazy and not self._urgent:
                self._urgent = first = True
            if first:
                self._turn.notify()

    def _run(self) -> None:
        waiting: list[_Work] = []  # for their next step: the disk has what they gave
        while True:
            with self._turn:
                while not (self._queue or waiting or self._closed):
                    self._turn.wait()
                if not (waiting or self._urgent or self._closed):
                    self._turn.wait_for(lambda: self._urgent or self._closed, LAZY_SECONDS)
                works, self._queue, self._urgent = waiting + self._queue, [], False
                self._working = True
                if not works:
                    return
            waiting = self._round(works)
            with self._turn:
                self._working = bool(waiting)

    def _round(self, works: list[_Work]) -> list[_Work]:
        ended: list[tuple[_Work, Any, BaseException | None]] = []
        given: list[tuple[_Work, list[str | int]]] = []
        for work in works:
            self._step(work, None, ended, given)
        self._tell(ended)
        if not given:
            return []
        try:
            faults = durable_or_not(path for _, paths in given for path in paths)
        except BaseException as error:  # noqa: BLE001 - a defect of ours: whoever waits must hear of it
            self._tell([(work, None, error) for work, _ in given])
            return []
        if not faults:
            return [work for work, _ in given]
        left: list[_Work] = []
        for work, paths in given:
            fault = next((faults[path] for path in paths if path in faults), None)
            if fault is None:
                left.append(work)
            else:  # only whose it is shall fail
                again: list[tuple[_Work, list[str | int]]] = []
                ended = []
                self._step(work, fault, ended, again)
                self._tell(ended)
                left += [each for each, _ in again]
        return left

    def _step(
        self,
        work: _Work,
        thrown: OSError | None,
        ended: list[tuple[_Work, Any, BaseException | None]],
        given: list[tuple[_Work, list[str | int]]],
    ) -> None:
        try:
            with disk_trouble(self._folder):
                paths = next(work.steps) if thrown is None else work.steps.throw(thrown)
                given.append((work, list(paths)))
        except StopIteration as end:
            if work.awaited:
                ended.append((work, end.value, None))
        except BaseException as error:  # noqa: BLE001 - it is the waiting one's, and the thread must go on
            ended.append((work, None, error))

    def _tell(self, ended: list[tuple[_Work, Any, BaseException | None]]) -> None:
        if ended:
            with suppress(RuntimeError):  # the loop has been closed: nobody waits
                self._loop.call_soon_threadsafe(_settle, ended)


def _settle(ended: list[tuple[_Work, Any, BaseException | None]]) -> None:
    for work, value, error in ended:
        work.ended(value, error)


def _plain(call: Callable[[], T]) -> Steps[T]:
    return call()
    yield ()


@asynccontextmanager
async def open_writer(folder: Path) -> AsyncIterator[Writer]:
    """A writer for what lies below `folder`; all that it was given is written when the block has ended."""
    writer = Writer(folder)
    writer.start()
    try:
        yield writer
    finally:
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await writer.do(lambda: None)
        writer.stop()
