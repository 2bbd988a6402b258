"""Who is to blame for the trouble of one container: a table, and the one function that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

TOLD = ""  # no ERROR: whoever asked is told, and decides
MACHINES_PEAK = 0.9  # of a limit: a kill for memory at less was not made by that limit


class Place(StrEnum):
    """Which container it is."""

    EVALUATOR = "evaluator's"
    NAMED = "named"
    RUN = "run phase's"


class Trouble(StrEnum):
    """What is the matter with it. Of several the first in this order counts."""

    CUT = "the way to it was cut while it runs"
    REMOVED = "it is not there any more"
    PRINTED = "it printed more than it may"
    TIME = "its time ran out"
    MEMORY = "the kernel killed in it for want of memory"
    ENDED = "its main process ended without a word"
    NOT_STARTED = "a process cannot be started in it"
    STUCK = "no kill ends it, or the engine cannot tell of it or of a process in it"


class Order(StrEnum):
    """Who had the engine end, stop, pause or remove it."""

    NOBODY = "nobody"
    OURS = "scorehost"
    OTHERS = "somebody else"


class Ran(StrEnum):
    """What has run in it so far."""

    NOTHING = "nothing"
    TRUSTED = "trusted code"
    SUBMITTED = "submitted code"


class Peak(StrEnum):
    """Its memory at most, against its own limit."""

    UNKNOWN = "unknown"
    REACHED = "at the limit"
    BELOW = "well below"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known. `engine_answers`: the same questions about other containers, asked now."""

    trouble: Trouble
    place: Place
    ran: Ran
    order: Order = Order.NOBODY
    engine_answers: bool = True
    peak: Peak = Peak.UNKNOWN


class Verdict(NamedTuple):
    """`kind` of the ERROR, or TOLD; whether the attempt is made again by itself."""

    kind: str
    retried: bool = False


class Row(NamedTuple):
    """One line of the table: facts that must hold (None: whatever they are), and what follows.

    `why` says in a few words why it is just.
    """

    verdict: Verdict
    why: str
    trouble: tuple[Trouble, ...] | None = None
    place: tuple[Place, ...] | None = None
    ran: tuple[Ran, ...] | None = None
    order: tuple[Order, ...] | None = None
    engine_answers: bool | None = None
    peak: tuple[Peak, ...] | None = None

    def fits(self, facts: Facts) -> bool:
        """Whether all that the row asks for holds."""
        asked = (
            (self.trouble, facts.trouble),
            (self.place, facts.place),
            (self.ran, facts.ran),
            (self.order, facts.order),
            (self.peak, facts.peak),
        )
        answers = self.engine_answers is None or self.engine_answers == facts.engine_answers
        return answers and all(among is None or found in among for among, found in asked)


_EVALUATOR, _ASKED, _RUN = (Place.EVALUATOR,), (Place.NAMED, Place.RUN), (Place.RUN,)
_HAD_RUN = (Ran.TRUSTED, Ran.SUBMITTED)

# The first row that fits counts. What only the machine can do comes first: nothing in a container can give
# the engine an order, or stop it from answering about others.
TABLE: tuple[Row, ...] = (
    Row(Verdict("engine_lost", retried=True), "the engine fails for everybody", engine_answers=False),
    Row(
        Verdict("host_lost", retried=True),
        "no process in a container can give the engine an order",
        order=(Order.OTHERS,),
    ),
    Row(
        Verdict("host_lost", retried=True),
        "no process in a container can remove it",
        trouble=(Trouble.REMOVED,),
    ),
    Row(
        Verdict("host_lost", retried=True),
        "its own limit was far, so the machine ran short",
        trouble=(Trouble.MEMORY,),
        peak=(Peak.BELOW,),
    ),
    Row(
        Verdict("engine_lost", retried=True),
        "nothing but the way to it can end a connection",
        trouble=(Trouble.CUT,),
        ran=(Ran.NOTHING, Ran.TRUSTED),
    ),
    Row(
        Verdict("engine_lost"),
        "the same; but strangers' work is not run again unasked",
        trouble=(Trouble.CUT,),
        ran=(Ran.SUBMITTED,),
    ),
    Row(
        Verdict("engine_lost", retried=True),
        "nobody was there who could have clogged it",
        trouble=(Trouble.STUCK,),
        ran=(Ran.NOTHING, Ran.TRUSTED),
    ),
    Row(
        Verdict("submission_fault"),
        "what ran in it clogged it; its deadlines hold",
        trouble=(Trouble.STUCK,),
        place=(Place.EVALUATOR, Place.RUN),
        ran=(Ran.SUBMITTED,),
    ),
    Row(
        Verdict("start_failed", retried=True),
        "nobody was there who could have used it up",
        trouble=(Trouble.NOT_STARTED,),
        place=(Place.NAMED,),
        ran=(Ran.NOTHING,),
    ),
    Row(
        Verdict("submission_fault"),
        "what ran before left no room; raised as SubmissionFault, which may be caught",
        trouble=(Trouble.NOT_STARTED,),
        ran=(Ran.SUBMITTED,),
    ),
    Row(
        Verdict("output_limit"),
        "the evaluator answers for its host",
        trouble=(Trouble.PRINTED,),
        place=_EVALUATOR,
        ran=_HAD_RUN,
    ),
    Row(
        Verdict("evaluator_timeout"),
        "the evaluator answers for its time",
        trouble=(Trouble.TIME,),
        place=_EVALUATOR,
        ran=_HAD_RUN,
    ),
    Row(
        Verdict("start_timeout", retried=True),
        "a busy machine starts slowly",
        trouble=(Trouble.TIME,),
        ran=(Ran.NOTHING,),
    ),
    Row(
        Verdict("evaluator_oom"),
        "the evaluator answers for its host",
        trouble=(Trouble.MEMORY,),
        place=_EVALUATOR,
    ),
    Row(
        Verdict("image_unusable"),
        "only the image had a part in it",
        trouble=(Trouble.ENDED, Trouble.PRINTED, Trouble.NOT_STARTED),
        ran=(Ran.NOTHING,),
    ),
    Row(
        Verdict("evaluator_exit"),
        "something in it ended the evaluator",
        trouble=(Trouble.ENDED,),
        place=_EVALUATOR,
    ),
    Row(
        Verdict(TOLD),
        "a container of its own can only hurt who ran in it",
        place=_ASKED,
    ),
    Row(
        Verdict(TOLD),
        "the evaluator's own processes use its room up",
        trouble=(Trouble.NOT_STARTED,),
        place=_EVALUATOR,
    ),
)


def blame(facts: Facts) -> Verdict:
    """What follows from the facts, by the first row of the table that fits."""
    return next(row.verdict for row in TABLE if row.fits(facts))


def peak_of(peak_bytes: int | None, limit_bytes: int) -> Peak:
    """How near a peak came to its limit; a peak that nobody knows is never taken for one."""
    if not peak_bytes:
        return Peak.UNKNOWN
    return Peak.BELOW if peak_bytes < MACHINES_PEAK * limit_bytes else Peak.REACHED
