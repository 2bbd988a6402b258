"""Attempts run side by side, so many at a time, until all are done or the job has to stop."""

from __future__ import annotations

import traceback
from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import anyio
import structlog

from scorehost.aio.retry import Retry
from scorehost.errors import DiskTrouble, EngineUnreachable
from scorehost.jobs.gate import PATIENCE_SECONDS, EngineGate
from scorehost.jobs.ledger import Ledger, unforeseen_text
from scorehost.model.result import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.jobs.scoring import Clock, Ping, Score
    from scorehost.model.ids import AttemptKey
    from scorehost.model.order import Order
    from scorehost.runs.scored import Scored

Why = Literal["done", "fail_fast", "engine", "disk", "interrupted"]
STILL_SECONDS = 60.0  # after so long without any event the job says what it waits for
MOST_LOSSES = 3  # an attempt whose engine went away so often, though it answers again, ends the job
ENGINE_LOST = "engine_lost"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How attempts are taken: how many at a time, how often one is tried again after a retryable ERROR."""

    concurrency: int
    retry: Retry
    fail_fast: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """Why a schedule ended, with a message for what was not planned."""

    why: Why = "done"
    message: str = ""


class Schedule:
    """One run over a list of orders."""

    def __init__(
        self,
        orders: Iterable[Order[Any]],
        *,
        pace: Pace,
        ledger: Ledger,
        score: Score[Any],
        ping: Ping,
        clock: Clock,
    ) -> None:
        self._queue = deque(orders)
        self._pace = pace
        self._ledger = ledger
        self._score = score
        self._clock = clock
        self._gate = EngineGate(ping, clock)
        self._first_number = {order.key: order.number for order in self._queue}
        self._losses: Counter[AttemptKey] = Counter()
        self._end: End | None = None
        self._scope = anyio.CancelScope()
        ledger.on_disk_trouble = self._disk_trouble

    def upcoming(self, count: int) -> list[Order[Any]]:
        """The next orders that nobody has taken yet."""
        return list(islice(self._queue, count))

    async def run(self, stop: anyio.Event) -> End:
        """Runs until nothing is left; `stop` cancels the attempts that run, which clean up by themselves."""
        workers = min(self._pace.concurrency, len(self._queue))
        with self._scope:
            async with anyio.create_task_group() as watchers:
                watchers.start_soon(self._watch_stop, stop)
                watchers.start_soon(self._watch_stillness)
                async with anyio.create_task_group() as group:
                    for _ in range(workers):
                        group.start_soon(self._work)
                watchers.cancel_scope.cancel()
        return self._end or End()

    def _finish(self, why: Why, message: str = "", *, cancel: bool = True) -> None:
        if self._end is None or (self._end.why == "fail_fast" and cancel):
            self._end = End(why, message)
        if cancel:
            self._scope.cancel()

    def _disk_trouble(self, error: DiskTrouble) -> None:
        self._finish("disk", str(error))

    async def _watch_stop(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._finish("interrupted", "Stopped by a signal; go on with --resume.")

    async def _watch_stillness(self) -> None:
        told = self._clock.now()
        while True:
            now = self._clock.now()
            still_since = max(self._ledger.moved_at, told)
            if now - still_since >= STILL_SECONDS:
                moved_at, told = self._ledger.moved_at, now
                self._ledger.waiting(now - moved_at)
                self._ledger.moved_at = moved_at  # to say that nothing moves is no movement
                still_since = now
            await self._clock.sleep(STILL_SECONDS - (now - still_since))

    async def _work(self) -> None:
        while self._end is None and self._queue:
            if not await self._gate.passable():
                self._engine_gone()
                return
            # Others may have taken the last one, or ended the job, while this one waited at the gate.
            if self._end is None and self._queue:
                await self._attempt(self._queue.popleft())

    async def _attempt(self, order: Order[Any]) -> None:
        try:
            await self._scored(order)
        except DiskTrouble as error:
            self._disk_trouble(error)
        except anyio.get_cancelled_exc_class():
            self._ledger.event("attempt_cancelled", order.key, {"number": order.number})
            raise
        finally:
            self._ledger.ended(order)

    async def _scored(self, order: Order[Any]) -> None:
        ledger = self._ledger
        ledger.started(order)
        try:
            result = await self._score(order, ledger.folder.attempt(order.key), ledger.emitter(order.key))
        except EngineUnreachable as error:
            ledger.event("attempt_lost", order.key, {"text": error.message})
            await self._lost(order)
        except DiskTrouble:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is one attempt's
            # One attempt that no one planned for must not take the others with it.
            # Its text may hold gold; where it arose does not.
            trace = "".join(traceback.format_tb(error.__traceback__))
            _log.error("attempt_unforeseen", key=str(order.key), error=type(error).__name__, trace=trace)
            ledger.warn(unforeseen_text(error), order.key)
        else:
            await self._settle(order, await ledger.finished(order, result))

    async def _settle(self, order: Order[Any], one: Scored) -> None:
        failure = one.error
        tried = order.number - self._first_number[order.key]
        again = failure is not None and failure.retryable and self._pace.retry.after(tried + 1) is not None
        if failure is not None and again:
            # Set aside before the engine is waited for: when it is gone for good, a resume owes this try.
            await self._ledger.set_aside(order, order.number, "attempt_retried", {"kind": failure.kind})
            self._queue.append(replace(order, number=order.number + 1))
        if failure is not None and failure.kind == ENGINE_LOST and not await self._gate.recovered():
            self._engine_gone()
        elif self._pace.fail_fast and one.status not in GOOD and not again:
            self._finish("fail_fast", f"Stopped at the first that is not PASS: {one.key}.", cancel=False)

    async def _lost(self, order: Order[Any]) -> None:
        self._losses[order.key] += 1
        self._queue.appendleft(order)
        if self._losses[order.key] >= MOST_LOSSES:
            self._finish(
                "engine",
                f"The engine went away {MOST_LOSSES} times under {order.key}, though it answers in between. "
                "Run `scorehost doctor`, then go on with --resume.",
            )
        elif not await self._gate.recovered():
            self._engine_gone()

    def _engine_gone(self) -> None:
        self._finish(
            "engine",
            f"The engine has not answered for {PATIENCE_SECONDS:.0f} s. "
            "See that it runs (`scorehost doctor`), then go on with --resume.",
        )
