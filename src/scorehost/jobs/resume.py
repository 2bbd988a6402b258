"""A job taken up again: what is finished stays as it is, what is not runs."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.aio.aside import aside, still_wanted
from scorehost.errors import UsageError
from scorehost.model.failure import KINDS
from scorehost.model.spelling import near
from scorehost.runs.folder import JobFolder, find_job
from scorehost.runs.reader import ATTEMPTS, BadFile, Reader
from scorehost.runs.reading import sound_result
from scorehost.runs.record import JobRecord, SubmissionRecord, task_record
from scorehost.spec.gold_key import OTHER_KEY, gold_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scorehost.attempt.order import Order
    from scorehost.jobs.ledger import Ledger
    from scorehost.jobs.options import RunOptions
    from scorehost.jobs.plan import Plan
    from scorehost.model.result import Result
    from scorehost.runs.journal import History
    from scorehost.spec.dataset import Dataset

NAMED = 5
_PARTS = {
    "spec": "task.yaml or --set",
    "code": "evaluator.py, lib/ or shared/",
    "gold": "gold",
    "run": "run.py or what it uses",
}


def resumed_options(options: RunOptions) -> RunOptions:
    """What the job of `--resume` was asked; how it runs (concurrency, retries, exit status, …) is `options`'.

    Unchanged without `--resume`. UsageError when there is no such job, or when `options` asks for other
    attempts. The dataset is to be loaded from the options that come out.
    """
    if options.resume is None:
        return options
    _refuse_other_attempts(options)
    folder = find_job(options.out, options.resume)
    was = folder.read_record().asked
    _refuse_other_dataset(options.dataset, Path(was.dataset), folder.job_id)

    def path(text: str | None) -> Path | None:
        return None if text is None else Path(text)

    return dataclasses.replace(
        options,
        dataset=Path(was.dataset),
        tasks=was.tasks,
        tags=was.tags,
        limit=was.limit,
        submissions=was.submissions,
        submissions_dir=path(was.submissions_dir),
        predictions=path(was.predictions),
        repeat=was.repeat,
        profiles=path(was.profiles),
        parameters=was.parameters,
        gold=path(was.gold),
        name=was.name,
        samples=was.samples,
        parent=path(was.parent),
        changed=was.changed,
        staged=path(was.staged),
        out=folder.path.parent,
        resume=str(folder.path),
    )


def _refuse_other_attempts(options: RunOptions) -> None:
    given = {
        "--task": options.tasks,
        "--tag": options.tags,
        "--limit": options.limit,
        "--submission": options.submissions,
        "--submissions": options.submissions_dir,
        "--predictions": options.predictions,
        "--set": options.parameters,
        "--gold": options.gold,
        "--profiles": options.profiles,
        "--name": options.name,
        "--samples": options.samples,
        "--repeat": options.repeat if options.repeat != 1 else None,
    }
    wrong = [name for name, value in given.items() if value]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)} cannot go with --resume: a job keeps what it was asked.",
            hint="Leave it out, or start a new job.",
        )


def _refuse_other_dataset(given: Path, was: Path, job_id: str) -> None:
    if given != Path() and given.resolve() != was.resolve():
        raise UsageError(
            f"{given} is not the dataset of the job {job_id}, which is {was}: a job keeps what it was asked.",
            hint="Leave it out, or start a new job.",
        )


def check_unchanged(record: JobRecord, dataset: Dataset, plan: Plan) -> None:
    """Raises UsageError that names what is not as it was when the job began."""
    changed: list[str] = []
    key, bound_by = gold_key(dataset), record.dataset.gold_key
    if bound_by not in (None, key.id):
        changed.append(OTHER_KEY)
    if dataset.dataset_id != record.dataset.dataset_id:
        changed.append(f"the dataset is {dataset.dataset_id}, not {record.dataset.dataset_id}")
    changed += [f"the task {task_id} is gone" for task_id in sorted(set(record.tasks) - set(plan.tasks))]
    changed += [f"the task {task_id} is new" for task_id in sorted(set(plan.tasks) - set(record.tasks))]
    for task_id in sorted(set(record.tasks) & set(plan.tasks)):
        was, now = record.tasks[task_id], task_record(plan.tasks[task_id], key, first=bound_by is None)
        told = [part for part in _PARTS if part != "gold" or bound_by in (None, key.id)]
        parts = [_PARTS[part] for part in told if getattr(was, part) != getattr(now, part)]
        if parts:
            changed.append(f"{task_id}: {', '.join(parts)}")
    changed += _changed_submissions(record, plan)
    if not changed and plan.digest != record.plan.digest:
        changed.append("a submission's folder has other samples")
    if changed:
        more = f"\n  and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        listed = "".join(f"\n  {line}" for line in changed[:NAMED])
        raise UsageError(
            f"The job {record.job_id} cannot go on, since its input changed:{listed}{more}",
            hint="Put it back as it was, or start a new job: scores of different inputs are not one measure.",
        )


def _changed_submissions(record: JobRecord, plan: Plan) -> Iterator[str]:
    was: dict[str, SubmissionRecord] = {one.name: one for one in record.submissions}
    now = {one.name: one.record for one in plan.submissions}
    yield from (f"the submission {name} is gone" for name in sorted(set(was) - set(now)))
    yield from (f"the submission {name} is new" for name in sorted(set(now) - set(was)))
    for name in sorted(set(was) & set(now)):
        if was[name].digest != now[name].digest:
            yield f"the submission {name}: {now[name].path}"


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
    plan: Plan, history: History, ledger: Ledger, rerun: Rerun | None = None
) -> tuple[Order, ...]:
    """Puts the finished attempts into the ledger and gives the orders that are to run.

    A finished attempt is left byte for byte as it is; one of a parent's that stands is linked. A damaged one,
    and one that `rerun` asks for, is moved to `tries/` and told.
    """
    todo: list[Order] = []
    stands: list[tuple[Order, Path]] = []
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
            if order.key in plan.carried or not _again(result, rerun):
                ledger.found(order, result)
                if str(order.key) not in history.results:
                    told = {"number": result.try_number, "result": stock.digest}
                    ledger.event("attempt_found", order.key, told)
                continue
            number = max(result.try_number, number)
            kind = None if result.error is None else result.error.kind
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


def _look(plan: Plan, folder: JobFolder, history: History) -> list[_Stock]:
    with Reader(folder.path) as reader:
        return [_stock(order, folder, reader, history) for order in plan.orders]


def _stock(order: Order, folder: JobFolder, reader: Reader, history: History) -> _Stock:
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


def _again(result: Result, rerun: Rerun | None) -> bool:
    if rerun is None or result.error is None:
        return False
    return rerun.kind is None or result.error.kind == rerun.kind


def next_number(folder: JobFolder, order: Order) -> int:
    """The number of the next try of this key: one more than the highest that is kept."""
    try:
        kept = os.listdir(folder.tries(order.key))  # noqa: PTH208 - plain calls: this runs for each of tens of thousands
    except (FileNotFoundError, NotADirectoryError):
        return 1
    return max((int(name) for name in kept if name.isdecimal()), default=0) + 1
