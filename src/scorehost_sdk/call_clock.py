"""How long submitted code may take: CPU time, which a busy machine does not use up, and wall time."""

from __future__ import annotations

import math
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    Measure = Callable[[], Optional[float]]  # CPU seconds of the host so far; None where nobody can tell

# Wall time is for code that waits; how much more of it than of CPU time a call gets by itself.
_TIMES, _AT_LEAST = 4.0, 20.0
_FIRST_LOOK = 0.25  # seconds: shorter calls are not measured, which costs as much as they do
_NEXT_LOOK = 0.05
# Past the limit what lies ready is read, since the controller may have been held up: so long, or so often.
_READY_SECONDS, _READY_LOOKS = 2.0, 64


def generous(cpu_seconds: float) -> float:
    """The wall time that goes with a limit of CPU time when nobody says another."""
    return max(_TIMES * cpu_seconds, _AT_LEAST)


def checked(name: str, seconds: Optional[float]) -> None:
    """ValueError for what is no number of seconds above 0."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{name} is a number of seconds above 0, not {seconds!r}")


class CallClock:
    """The time of one call: over once its host has used `cpu` seconds since, or `wall` seconds have passed.

    The host's CPU time is counted by the kernel and read by the controller: nothing in the host can change
    it. It is not asked for before `cpu` seconds of wall time could have been used up.
    """

    def __init__(self, cpu: float, wall: float, measure: Measure) -> None:
        self._cpu, self._wall, self._measure = cpu, wall, measure
        self.began = time.monotonic()
        self._first: Optional[float] = None
        self._next = self.began + min(_FIRST_LOOK, cpu / 4)
        self.over = ""  # how much was used, in words
        self._over_since, self._looks = 0.0, 0

    def restart(self) -> None:
        """Only now: until the message was taken, the submission had no part in what went by."""
        shift = time.monotonic() - self.began
        self.began += shift
        self._next += shift

    def patience(self) -> float:
        """How many seconds to wait for more; 0 past the limit: what lies ready, and no more.

        TimeoutError when bytes go on coming that are no whole answer.
        """
        now = time.monotonic()
        if not self.over and now >= min(self._next, self.began + self._wall):
            self._look(now)
        if not self.over:
            return max(0.0, min(self._next, self.began + self._wall) - time.monotonic())
        self._looks += 1
        if self._looks > _READY_LOOKS and time.monotonic() > self._over_since + _READY_SECONDS:
            raise TimeoutError
        return 0.0

    def _look(self, now: float) -> None:
        if now >= self.began + self._wall:
            self._is_over(f"within {self._wall:.3g} s")
            return
        used = self._measure()
        if used is None:
            self._next = math.inf  # only wall time can be known
        elif self._first is None:
            self._first, self._next = used, max(self.began + self._cpu, now + _NEXT_LOOK)
        elif used - self._first >= self._cpu:
            self._is_over(f"within {self._cpu:.3g} s of CPU time")
        else:
            self._next = time.monotonic() + max(_NEXT_LOOK, self._cpu - (used - self._first))

    def _is_over(self, words: str) -> None:
        self.over, self._over_since = words, time.monotonic()


class Allowance:
    """What all calls together may take: `cpu` seconds of CPU time and, for code that waits, `wall` seconds.

    Wall time is what is charged while that fits; only then the host is asked for what was really used.
    """

    def __init__(self, cpu: Optional[float], wall: Optional[float], measure: Measure) -> None:
        self.cpu, self._measure = cpu, measure
        self._wall = math.inf if cpu is None else generous(cpu) if wall is None else wall
        self._waited = 0.0  # of all processes
        self._charged = 0.0  # to this process
        self._before = 0.0  # charged to earlier ones
        self._base: Optional[float] = None

    def begin(self) -> None:
        """A process starts."""
        self._charged = 0.0
        self._base = None if self.cpu is None else self._measure() or 0.0  # a host that has yet to start

    def end(self) -> None:
        """The process is about to be ended."""
        if self.cpu is not None:
            self._weigh()
            self._before += self._charged
            self._charged = 0.0

    def spend(self, seconds: float) -> None:
        """Wall time that a call took."""
        self._waited += seconds
        self._charged += seconds

    def _weigh(self) -> None:
        used = self._measure()
        if used is not None and self._base is not None:
            self._charged = min(self._charged, max(0.0, used - self._base))

    def left(self, asked: float) -> float:
        """How much of `asked` seconds of CPU time a call may take."""
        if self.cpu is None:
            return asked
        if self.cpu - self._before - self._charged < asked:
            self._weigh()
        return min(asked, self.cpu - self._before - self._charged)

    def wall_left(self, asked: float) -> float:
        """How much of `asked` seconds of wall time a call may take."""
        return min(asked, self._wall - self._waited)
