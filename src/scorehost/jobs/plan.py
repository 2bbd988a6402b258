"""The plan of a job: tasks x submissions x samples x repeats, in an order that is fair over tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.attempt.order import Order
from scorehost.errors import UsageError
from scorehost.jobs.select import selected_tasks
from scorehost.model.ids import AttemptKey
from scorehost.model.json import digest
from scorehost.model.spelling import near
from scorehost.submissions.finding import Search, Submission, Warn, find_submissions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from scorehost.jobs.options import RunOptions
    from scorehost.spec.dataset import Dataset, Task

MAX_ATTEMPTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Every attempt of a job, in the order in which attempts are taken."""

    tasks: Mapping[str, Task]
    submissions: Sequence[Submission]
    orders: Sequence[Order]
    carried: Mapping[AttemptKey, Path] = field(default_factory=dict)  # a parent's attempts that stand
    shared_host: bool = False  # what run phases make is scored in their own containers

    @property
    def digest(self) -> str:
        """Over the keys in order: two plans with one digest make the same attempts."""
        return digest([str(order.key) for order in self.orders])


def make_plan(options: RunOptions, dataset: Dataset, *, staging: Path, warn: Warn) -> Plan:
    """Finds tasks and submissions and puts the attempts in order; archives are unpacked below `staging`.

    Raises UsageError and SpecError for what was asked wrongly, DiskFull while unpacking.
    """
    check_options(options)
    tasks = selected_tasks(options, dataset)
    _check_parameters(options, [dataset.tasks[task.task_id] for task in tasks], warn)
    search = Search(dataset=dataset, tasks=tasks, staging=staging, warn=warn)
    submissions = find_submissions(options, search)
    _check_run_phase(options, submissions)
    total = sum(
        len(samples) * (1 if submission.once else options.repeat)
        for submission in submissions
        for samples in submission.hand_ins.values()
    )
    if total > MAX_ATTEMPTS:
        raise UsageError(
            f"That would be {total} attempts, more than {MAX_ATTEMPTS}.", hint="Use several jobs."
        )
    orders = tuple(_orders(tasks, submissions, options.repeat))
    shared = not dataset.profiles.evaluate_host.isolated and any(order.source.run for order in orders)
    if shared:
        _check_shared_host(options, warn)
    return Plan({task.task_id: task for task in tasks}, submissions, orders, shared_host=shared)


def _check_parameters(options: RunOptions, tasks: Sequence[Task], warn: Warn) -> None:
    # An evaluator may read what its task does not declare; a misspelt name would change nothing, unseen.
    known = {name for task in tasks for name in task.spec.parameters}
    for name in options.parameters:
        if name not in known:
            warn(f"--set {name}: no selected task declares this parameter. {near(name, known)}")


def check_options(options: RunOptions) -> None:
    """Raises UsageError for numbers that make no sense, and for what is not there yet."""
    for name, value in (
        ("--repeat", options.repeat),
        ("--limit", options.limit),
        ("--concurrency", options.concurrency),
        ("--samples", options.samples),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: must be 1 or more.")
    if options.retry_errors < 0:
        raise UsageError(f"--retry-errors {options.retry_errors}: must be 0 or more.")
    if options.fail_under is not None and not math.isfinite(options.fail_under):
        raise UsageError(f"--fail-under {options.fail_under}: must be a finite number.")
    if options.rerun is not None and options.resume is None:
        raise UsageError("--rerun needs a job.", hint="Add --resume JOB, such as --resume latest.")


def _check_run_phase(options: RunOptions, submissions: Sequence[Submission]) -> None:
    runs = any(one.record.kind == "run" for one in submissions)
    if options.samples is not None and not runs:
        raise UsageError(
            "--samples asks the run phase for samples, and this job has none.",
            hint="Hand in several: <submission>/<task_id>/samples/<n>/, or repeated rows of --predictions.",
        )
    if options.repeat > 1 and runs:
        raise UsageError(
            "--repeat scores one sample again, and a run phase makes another sample each time.",
            hint="Use --samples N; or score what a job archived again with `scorehost rescore`.",
        )


def _check_shared_host(options: RunOptions, warn: Warn) -> None:
    what = "evaluate_host.isolated: false of profiles.yaml scores in the run phase's own container"
    if not options.allow_shared_host:
        raise UsageError(
            f"{what}, which is not isolated: what run.py leaves there lies beside gold and evaluator.",
            hint="Write `isolated: true`, or give --allow-shared-host to `scorehost run`.",
        )
    warn(f"not isolated: {what}; every result of it says so")


def _orders(tasks: Sequence[Task], submissions: Sequence[Submission], repeats: int) -> Iterator[Order]:
    # Tasks turn fastest: each task is scored once before any is scored twice, so that a broken task shows
    # early and a job that is stopped has said something of every task.
    numbers = sorted({n for one in submissions for samples in one.hand_ins.values() for n in samples})
    for repeat in range(1, repeats + 1):
        for sample in numbers:
            for submission in submissions:
                for task in tasks:
                    source = submission.hand_ins.get(task.task_id, {}).get(sample)
                    if source is not None and (repeat == 1 or not submission.once):
                        key = AttemptKey(
                            task_id=task.task_id, submission=submission.name, sample=sample, repeat=repeat
                        )
                        yield Order(key=key, task=task, source=source)
