"""A job taken up again: what is finished stays as it is, what is not runs."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scorehost.aio.aside import aside, still_wanted
from scorehost.errors import UsageError
from scorehost.model.failure import KINDS
from scorehost.model.spelling import near
from scorehost.runs.folder import JobFolder
from scorehost.runs.reader import ATTEMPTS, BadFile, Reader
from scorehost.runs.reading import sound_result

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.jobs.ledger import Ledger
    from scorehost.jobs.plan import Plan
    from scorehost.model.order import Order
    from scorehost.model.result import Result
    from scorehost.runs.journal import History


@dataclass(frozen=True, slots=True)
class Rerun:
    """Which finished ERRORs run again; `kind` None means all."""

    kind: str | None = None


def parse_rerun(text: str | None) -> Rerun | None:
    """`error` or `error:KIND`; UsageError for anything else."""
    if text is None:
        return None
    word, colon, kind = text.partition(":")
    if word != "error":
        raise UsageError(f"--rerun {text}: only `error` and `error:KIND` can run again.")
    if colon and kind not in KINDS:
        raise UsageError(f"--rerun {text}: there is no such kind of ERROR.", hint=near(kind, KINDS))
    return Rerun(kind if colon else None)


async def take_stock(
    plan: Plan[Any], history: History, ledger: Ledger, rerun: Rerun | None = None, *, retries: int = 0
) -> tuple[Order[Any], ...]:
    """Puts the finished attempts into the ledger and gives the orders that are to run.

    A finished attempt is left byte for byte as it is; one of a parent's that stands is linked. A damaged one,
    and one that `rerun` asks for, is moved to `tries/` and told. So is a fault of the machinery that was to
    be tried again when a sitting was killed, while it has `retries` left.
    """
    todo: list[Order[Any]] = []
    stands: list[tuple[Order[Any], Path]] = []
    rerun_count = 0
    for order, stock in zip(
        plan.orders, await aside(lambda: _look(plan, ledger.folder, history)), strict=True
    ):
        number = stock.number
        if stock.why:
            await ledger.set_aside(order, number, "attempt_damaged", {"why": stock.why})
            ledger.warn(
                f"the folder was damaged ({stock.why}), is kept in tries/ and scored again", order.key
            )
            number += 1
        elif stock.result is None and number > 1 and str(order.key) in history.results:
            # A try whose folder was moved by a sitting that was killed before it wrote that line. Else the
            # journal would go on to say that this try is the attempt, and call the next one damaged.
            await ledger.durably("attempt_retried", order.key, {"number": number - 1, "found": True})
        if stock.result is None and order.key in plan.carried:
            stands.append((order, plan.carried[order.key]))
            continue
        if stock.result is not None:
            result = stock.result
            stays = order.key in plan.carried
            owed = not stays and _owed(result, history, retries)
            asked = not stays and not owed and _again(result, rerun)
            if not asked and str(order.key) not in history.results:
                told = {"number": result.try_number, "result": stock.digest}
                ledger.event("attempt_found", order.key, told)
            if not owed and not asked:
                ledger.found(order, result)
                continue
            number = max(result.try_number, number)
            kind = None if result.error is None else result.error.kind
            if owed:
                await ledger.set_aside(order, number, "attempt_retried", {"kind": kind})
            else:
                await ledger.set_aside(order, number, "attempt_rerun", {"error": kind})
                rerun_count += 1
            number += 1
        todo.append(dataclasses.replace(order, number=number))
    await ledger.carry(stands)
    if rerun is not None and not rerun_count:
        ledger.warn(f"--rerun: no finished attempt is ERROR{f' {rerun.kind}' if rerun.kind else ''}")
    return tuple(todo)


@dataclass(frozen=True, slots=True)
class _Stock:
    """What is there of an attempt: its result with its hash; else `why` it is damaged ("" when it is only
    unfinished), and the number of its next try.
    """

    result: Result | None = None
    digest: str = ""
    why: str = ""
    number: int = 1


def _look(plan: Plan[Any], folder: JobFolder, history: History) -> list[_Stock]:
    with Reader(folder.path) as reader:
        # By folders, so that each is opened once: in a plan neighbours lie far apart.
        places = sorted(range(len(plan.orders)), key=lambda place: plan.orders[place].key.folder)
        found = {place: _stock(plan.orders[place], folder, reader, history) for place in places}
    return [found[place] for place in range(len(plan.orders))]


def _stock(order: Order[Any], folder: JobFolder, reader: Reader, history: History) -> _Stock:
    still_wanted()
    name = str(order.key)
    try:
        result, digest = sound_result(reader, name, folder.job_id, history)
    except BadFile as error:
        why = str(error)
        if error.missing:
            why = "no result.json" if reader.there(f"{ATTEMPTS}/{name}") else ""
        return _Stock(why=why, number=next_number(folder, order))
    if result.error is None:  # nothing runs it again
        return _Stock(result, digest)
    return _Stock(result, digest, number=next_number(folder, order))


def _owed(result: Result, history: History, retries: int) -> bool:
    """Whether a sitting was killed between this ERROR and its next try."""
    key = str(result.key)
    killed = key in history.undecided or key not in history.results
    return killed and result.error is not None and result.error.retryable and result.try_number <= retries


def _again(result: Result, rerun: Rerun | None) -> bool:
    if rerun is None or result.error is None:
        return False
    return rerun.kind is None or result.error.kind == rerun.kind


def next_number(folder: JobFolder, order: Order[Any]) -> int:
    """The number of the next try of this key: one more than the highest that is kept."""
    try:
        kept = os.listdir(folder.tries(order.key))  # noqa: PTH208 - plain calls: this runs for each of tens of thousands
    except (FileNotFoundError, NotADirectoryError):
        return 1
    return max((int(name) for name in kept if name.isdecimal()), default=0) + 1
