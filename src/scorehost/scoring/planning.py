"""The plan of a score job: tasks x submissions x samples x repeats, in an order that is fair over tasks."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from scorehost.attempt.digests import Tools
from scorehost.attempt.work import Work
from scorehost.errors import UsageError
from scorehost.jobs.checks import at_least
from scorehost.jobs.plan import MAX_ATTEMPTS, Desk, Plan, Warn, too_many
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.model.spelling import near
from scorehost.scoring.rescore.plan import plan_again
from scorehost.scoring.subject import contents_of, fingerprint, subject_of
from scorehost.spec.stand_ins import stand_ins
from scorehost.submissions.finding import find_submissions, lasting_word
from scorehost.submissions.submission import Search, Submission

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scorehost.runs.record import Subject
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.scoring.choosing import Chosen
    from scorehost.scoring.rescore.plan import Images
    from scorehost.scoring.subject import Samples


def plan_score(
    chosen: Chosen, desk: Desk, *, images: Images | None = None, allow_shared_host: bool = False
) -> Plan[Work]:
    """Every attempt of the job; archives are unpacked at the desk. Blocks for as long as reading takes.

    With a parent its archived attempts are planned again; `images` are those that the engine has now, for a
    rescore of what changed. Raises UsageError and SpecError for what was asked wrongly, DiskFull.
    """
    asked, dataset = chosen.asked, chosen.dataset
    for warning in (*dataset.warnings, *stand_ins(chosen.tasks)):
        desk.warn(warning)
    check_asked(asked)
    if asked.parent is not None:
        return plan_again(chosen, asked.parent, desk.warn, images=images or {})
    _check_parameters(chosen, desk.warn)
    search = Search(
        dataset=dataset,
        tasks=chosen.tasks,
        staging=desk.staging,
        warn=desk.warn,
        words=asked.submissions,
        children=asked.submissions_dir,
        predictions=asked.predictions,
        run_samples=asked.samples or 1,
        staged=asked.staged,
    )
    submissions = find_submissions(search)
    _check_run_phase(asked, submissions)
    total = sum(
        len(numbered) * (1 if one.once else asked.repeat)
        for one in submissions
        for numbered in one.samples.values()
    )
    if total > MAX_ATTEMPTS:
        raise too_many(total)
    tasks = {task.task_id: task for task in chosen.tasks}
    runs = any(one.record.kind == "run" for one in submissions)
    if runs and not dataset.profiles.evaluate_host.isolated:
        _check_shared_host(desk.warn, allowed=allow_shared_host)
    contents = contents_of(tasks, submissions)
    subject = subject_of(dataset, chosen.tasks, submissions, contents)
    return Plan(
        asked=_lasting(asked, submissions),
        orders=tuple(_orders(chosen, submissions, subject, contents)),
        subject=subject,
        as_first=functools.partial(subject_of, dataset, chosen.tasks, submissions, contents, first=True),
        runner=Tools.read().tools.digest,
    )


def _lasting(asked: ScoreAsked, submissions: Sequence[Submission]) -> ScoreAsked:
    """What was asked, as it is understood in any folder and at any later time."""
    words = dict.fromkeys(lasting_word(one) for one in submissions)
    # What --submissions found is kept as single words, so that a folder that grows later changes no job.
    return dataclasses.replace(
        asked.lasting(),
        submissions=tuple(word for word in words if word is not None),
        submissions_dir=None,
    )


def check_asked(asked: ScoreAsked) -> None:
    """Raises UsageError for numbers that make no sense."""
    at_least("--repeat", asked.repeat, 1)
    at_least("--limit", asked.limit, 1)
    at_least("--samples", asked.samples, 1)


def _check_parameters(chosen: Chosen, warn: Warn) -> None:
    # An evaluator may read what its task does not declare; a misspelt name would change nothing, unseen.
    declared = [chosen.dataset.tasks[task.task_id] for task in chosen.tasks]
    known = {name for task in declared for name in task.spec.parameters}
    for name in chosen.asked.parameters:
        if name not in known:
            warn(f"--set {name}: no selected task declares this parameter. {near(name, known)}")


def _check_run_phase(asked: ScoreAsked, submissions: Sequence[Submission]) -> None:
    runs = any(one.record.kind == "run" for one in submissions)
    if asked.samples is not None and not runs:
        raise UsageError(
            "--samples asks the run phase for samples, and this job has none.",
            hint="Hand in several: <submission>/<task_id>/samples/<n>/, or repeated rows of --predictions.",
        )
    if asked.repeat > 1 and runs:
        raise UsageError(
            "--repeat scores one sample again, and a run phase makes another sample each time.",
            hint="Use --samples N; or score what a job archived again with `scorehost rescore`.",
        )


def _check_shared_host(warn: Warn, *, allowed: bool) -> None:
    what = "evaluate_host.isolated: false of profiles.yaml scores in the run phase's own container"
    if not allowed:
        raise UsageError(
            f"{what}, which is not isolated: what run.py leaves there lies beside gold and evaluator.",
            hint="Write `isolated: true`, or give --allow-shared-host to `scorehost run`.",
        )
    warn(f"not isolated: {what}; every result of it says so")


def _orders(
    chosen: Chosen, submissions: Sequence[Submission], subject: Subject, contents: Samples
) -> Iterator[Order[Work]]:
    # Tasks turn fastest: each task is scored once before any is scored twice, so that a broken task shows
    # early and a job that is stopped has said something of every task.
    isolated = chosen.dataset.profiles.evaluate_host.isolated
    prints = functools.cache(lambda task_id, held: fingerprint(subject.tasks[task_id], held))
    numbers = sorted({n for one in submissions for numbered in one.samples.values() for n in numbered})
    for repeat in range(1, chosen.asked.repeat + 1):
        for number in numbers:
            for one in submissions:
                for task in chosen.tasks:
                    sample = one.samples.get(task.task_id, {}).get(number)
                    if sample is None or (repeat > 1 and one.once):
                        continue
                    task_id = task.task_id
                    yield Order(
                        key=AttemptKey(task_id=task_id, submission=one.name, sample=number, repeat=repeat),
                        work=Work(task, sample, shared_host=sample.run and not isolated),
                        fingerprint=prints(task_id, contents[task_id, one.name, number]),
                        tags=task.spec.tags,
                    )
