"""SIGINT, SIGTERM and SIGHUP: the first asks the job to stop; a second SIGINT or SIGTERM leaves it seconds to
clean up, a third ends it at once.
"""

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
# Supervisors and shells send two signals in one moment: the second still removes what it can. A little more
# than `running.LAST_SECONDS`, after which the engine is given up.
HURRY_SECONDS = 4.0  # to remove what it can after a second signal
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def stop_on_signals(
    stop: anyio.Event, job_id: Callable[[], str], hurry: anyio.Event | None = None
) -> Iterator[None]:
    """Within it the first signal sets `stop`, the second `hurry`. At the third, or `HURRY_SECONDS` after the
    second, it prints how to clean up and exits with 130. A hang-up is always the first.

    `job_id` gives the job's id once it is known, else "". Outside the main thread it does nothing, since
    Python lets only that one receive signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    seen = 0
    last = threading.Timer(HURRY_SECONDS, lambda: _end(job_id()))
    last.daemon = True

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        if seen and number == signal.SIGHUP:
            return  # a terminal that goes hangs up twice, by the kernel and by its shell: nobody is impatient
        seen += 1
        if seen == 1:
            # A plain handler and a thread, not the loop's own: the process must end even while the loop is
            # held up.
            loop.call_soon_threadsafe(stop.set)
            _say(f"\nscorehost: {signal.Signals(number).name}, stopping. Once more hurries it.\n")
        elif seen == 2:  # noqa: PLR2004 - the second
            if hurry is not None:
                loop.call_soon_threadsafe(hurry.set)
            last.start()
            _say(f"\nscorehost: {HURRY_SECONDS:g} s for the clean-up. Once more ends it at once.\n")
        else:
            _end(job_id())

    # A hang-up that the caller chose to ignore (nohup) stays ignored.
    wanted = [n for n in SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in wanted}
    try:
        yield
    finally:
        last.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(job: str) -> None:
    how = f"scorehost clean --job {job}" if job else "scorehost clean"
    _say(f"\nscorehost: ended at once. What is left on the engine goes with: {how}\n")
    os._exit(INTERRUPTED)


def _say(text: str) -> None:
    """Writes past Python's buffers, whose lock the interrupted code may hold."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.write(sys.__stderr__.fileno(), text.encode())  # type: ignore[union-attr]
