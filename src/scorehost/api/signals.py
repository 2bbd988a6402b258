"""SIGINT, SIGTERM and SIGHUP: the first asks the job to stop, a second SIGINT or SIGTERM ends it at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    import anyio

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def stop_on_signals(stop: anyio.Event, job_id: Callable[[], str]) -> Iterator[None]:
    """Within it the first signal sets `stop`; the second prints how to clean up and exits with 130.
    A hang-up is never the second.

    `job_id` gives the job's id once it is known, else "". Outside the main thread it does nothing, since
    Python lets only that one receive signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    seen = 0

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        if seen and number == signal.SIGHUP:
            return  # a terminal that goes hangs up twice, by the kernel and by its shell: nobody is impatient
        seen += 1
        if seen == 1:
            # A plain handler, and not the loop's own: the second signal must end the process even while
            # the loop is held up.
            loop.call_soon_threadsafe(stop.set)
            _say(f"\nscorehost: {signal.Signals(number).name}, stopping. Once more ends it at once.\n")
            return
        job = job_id()
        how = f"scorehost clean --job {job}" if job else "scorehost clean"
        _say(f"\nscorehost: ended at once. What is left on the engine goes with: {how}\n")
        os._exit(INTERRUPTED)

    # A hang-up that the caller chose to ignore (nohup) stays ignored.
    wanted = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    """Writes past Python's buffers, whose lock the interrupted code may hold."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.__stderr__.fileno(), text.encode())  # type: ignore[union-attr]
