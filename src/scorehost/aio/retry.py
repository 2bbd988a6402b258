"""How often something is tried and how long each pause is: one frozen value, spelled once per use."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import anyio


@dataclass(frozen=True, slots=True)
class Retry:
    """`times` tries in all, the first included (None: without end), and a pause before each further one.

    The pause before the second try is `pause` seconds, each later one `growth` times as long, none longer
    than `most`. Up to the share `jitter` of a pause is added at random, so that many callers that failed
    together do not come back together.
    """

    times: int | None
    pause: float = 0.0
    growth: float = 1.0
    jitter: float = 0.0
    most: float = math.inf

    def after(self, tried: int, *, asked: float | None = None) -> float | None:
        """Seconds to wait once `tried` tries were made; None when there are no more.

        `asked`: what the other side asked for (Retry-After, say): it takes the place of the pause. Whether
        there is time for it is the caller's to know.
        """
        if self.times is not None and tried >= self.times:
            return None
        if asked is not None:
            return asked
        try:
            pause = min(self.pause * self.growth ** (tried - 1), self.most)
        except OverflowError:
            pause = self.most
        return pause * (1 + random.uniform(0, self.jitter))  # noqa: S311 - spreads load, keeps no secret

    async def wait(self, tried: int, *, asked: float | None = None) -> bool:
        """Waits so long; False at once when there are no more tries."""
        pause = self.after(tried, asked=asked)
        if pause is not None:
            await anyio.sleep(pause)
        return pause is not None
