"""A job taken up again: what is finished stays as it is, what is not runs."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.jobs.carry import carry_over
from scorehost.model.failure import KINDS
from scorehost.model.result import Result
from scorehost.model.spelling import near
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import History, line_hash

if TYPE_CHECKING:
    from scorehost.jobs.ledger import Ledger
    from scorehost.jobs.plan import Plan
    from scorehost.model.order import Order


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


def take_stock(
    plan: Plan[Any], history: History, ledger: Ledger, rerun: Rerun | None = None
) -> tuple[Order[Any], ...]:
    """Puts the finished attempts into the ledger and gives the orders that are to run.

    A finished attempt is left byte for byte as it is; one of a parent's that stands is linked. A damaged one,
    and one that `rerun` asks for, is moved to `tries/` and told.
    """
    todo: list[Order[Any]] = []
    rerun_count = 0
    for order in plan.orders:
        found, why = _finished(order, ledger.folder, history)
        if found is None and why:
            number = next_number(ledger.folder, order)
            ledger.set_aside(order, number, "attempt_damaged", {"why": why})
            ledger.warn(f"the folder was damaged ({why}), is kept in tries/ and scored again", order.key)
        elif found is None:
            _tell_of_the_last_try(order, history, ledger)
        stands = order.key in plan.carried
        if found is None and stands:
            carry_over(plan.carried[order.key], order, ledger)
            continue
        if found is not None:
            if stands or not _again(found[0], rerun):
                result, result_hash = found
                ledger.found(order, result)
                if str(order.key) not in history.results:
                    ledger.event(
                        "attempt_found", order.key, {"number": result.attempt, "result": result_hash}
                    )
                continue
            error = found[0].error
            number = max(found[0].attempt, next_number(ledger.folder, order))
            ledger.set_aside(order, number, "attempt_rerun", {"error": error.kind if error else None})
            rerun_count += 1
        todo.append(dataclasses.replace(order, number=next_number(ledger.folder, order)))
    if plan.carried:
        os.sync()  # one for all that was linked
    if rerun is not None and not rerun_count:
        ledger.warn(f"--rerun: no finished attempt is ERROR{f' {rerun.kind}' if rerun.kind else ''}")
    return tuple(todo)


def _tell_of_the_last_try(order: Order[Any], history: History, ledger: Ledger) -> None:
    """Journals a try whose folder was moved by a sitting that was killed before it wrote that line.

    Else the journal would go on to say that this try is the attempt, and call the next one damaged.
    """
    number = next_number(ledger.folder, order) - 1
    if number and str(order.key) in history.results:
        ledger.event("attempt_retried", order.key, {"number": number, "found": True}, durable=True)


def _again(result: Result, rerun: Rerun | None) -> bool:
    if rerun is None or result.error is None:
        return False
    return rerun.kind is None or result.error.kind == rerun.kind


def _finished(
    order: Order[Any], folder: JobFolder, history: History
) -> tuple[tuple[Result, str] | None, str]:
    """The attempt's result and its hash; else None, and why it is damaged ("" when it is only unfinished)."""
    # Plain calls: this runs for each of tens of thousands of attempts before the first one starts.
    place = f"{folder.path}/attempts/{order.key.folder}"
    try:
        with open(f"{place}/result.json", "rb", buffering=0) as stream:  # noqa: PTH123
            data = stream.read()
    except FileNotFoundError:
        return None, "no result.json" if os.path.lexists(place) else ""
    except OSError as error:
        return None, f"result.json: {error.strerror}"
    try:
        result = Result.model_validate_json(data)
    except ValidationError:
        return None, "result.json does not parse"
    result_hash = line_hash(data)
    if result.key != order.key or result.job_id not in (folder.job_id, history.carried.get(str(order.key))):
        return None, "result.json is another attempt's"
    if history.results.get(str(order.key), result_hash) != result_hash:
        return None, "result.json is not what the journal says"
    return (result, result_hash), ""


def next_number(folder: JobFolder, order: Order[Any]) -> int:
    """The number of the next try of this key: one more than the highest that is kept."""
    try:
        kept = os.listdir(folder.tries(order.key))  # noqa: PTH208 - plain calls, see _finished
    except (FileNotFoundError, NotADirectoryError):
        return 1
    return max((int(name) for name in kept if name.isdecimal()), default=0) + 1
