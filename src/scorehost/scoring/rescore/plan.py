"""The plan of a job whose submissions are what an earlier one archived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.attempt.digests import Tools
from scorehost.attempt.order import Order
from scorehost.errors import UsageError
from scorehost.jobs.plan import Plan, make_plan
from scorehost.jobs.select import selected_tasks
from scorehost.runs.claim import locked
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import FILE, read_history
from scorehost.runs.reading import Attempt, ReadJob, read_job
from scorehost.runs.record import ParentRecord
from scorehost.scoring.rescore.archive import damage, undeclared
from scorehost.scoring.rescore.changes import Now, TaskImages, roles_now
from scorehost.spec.gold_key import gold_key
from scorehost.submissions.finding import Submission, Warn
from scorehost.submissions.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.jobs.options import RunOptions
    from scorehost.model.ids import AttemptKey
    from scorehost.spec.dataset import Dataset, Task

Images = Mapping[str, TaskImages]
"""task id -> its images as the engine has them now"""

NAMED = 5
_WHY = {
    "task": "task.yaml changed",
    "evaluator": "evaluator.py, lib/ or shared/ changed",
    "gold": "the gold set changed",
    "limits": "limits changed",
    "sdk": "the runner or the SDK of scorehost changed",
    "images": "an image changed",
    "roles": "the model, parameters or adapter of a role changed",
    "key": "it cannot be told whether the gold set changed: gold.key is another one",
    "unknown": "it is not known what scored them",
    "ERROR": "they were ERROR",
}
REFUSED = "invalid_submission"


def plan_for(
    options: RunOptions, dataset: Dataset, *, staging: Path, warn: Warn, images: Images | None = None
) -> Plan:
    """The plan of a run, or with `options.parent` that of its archived attempts scored again."""
    if options.parent is None:
        return make_plan(options, dataset, staging=staging, warn=warn)
    parent = JobFolder(options.parent)
    with suppress(OSError):  # an archive that nobody may write in is run by nobody
        with locked(parent.path):
            pass
    tasks = {task.task_id: task for task in selected_tasks(options, dataset)}
    return _Again(read_job(parent), dataset, tasks, warn, images or {}, changed_only=options.changed).plan()


def parent_record(options: RunOptions) -> ParentRecord | None:
    """The parent as job.json names it; None for a job that has none."""
    if options.parent is None:
        return None
    last = read_history(options.parent / FILE).last
    return ParentRecord(job_id=options.parent.name, root_hash=last)


@dataclass(slots=True)
class _Again:
    parent: ReadJob
    dataset: Dataset
    tasks: Mapping[str, Task]
    warn: Warn
    images: Images
    changed_only: bool
    carried: dict[AttemptKey, Path] = field(default_factory=dict)

    def plan(self) -> Plan:
        attempts = [one for one in self.parent.attempts if one.key.task_id in self.tasks]
        if not attempts:
            raise UsageError(
                f"The job {self.parent.folder.job_id} has no finished attempt of these tasks.",
                hint="Finish it with --resume, or choose other tasks.",
            )
        self._tell_left_out()
        again = self._to_score(attempts)
        self._check(again)
        sources = {one.key: self._source(one) for one in attempts}
        places = {one.name: place for place, one in enumerate(self.parent.record.submissions)}
        # Tasks turn fastest, as in the parent.
        keys = sorted(sources, key=lambda k: (k.repeat, k.sample, places.get(k.submission, 0), k.task_id))
        orders = tuple(Order(key, self.tasks[key.task_id], sources[key]) for key in keys)
        return Plan(
            {task_id: self.tasks[task_id] for task_id in sorted({key.task_id for key in keys})},
            self._submissions(sources),
            orders,
            carried=self.carried,
        )

    def _to_score(self, attempts: list[Attempt]) -> list[Attempt]:
        tools, now = Tools.read(), dict[str, Now]()
        key = gold_key(self.dataset) if self.changed_only else None
        roles = roles_now(self.dataset) if self.changed_only else {}
        again: list[Attempt] = []
        unarchived: list[str] = []
        why: Counter[str] = Counter()
        for one in attempts:
            if not _archived(one):
                self.carried[one.key] = one.folder
                unarchived.append(str(one.key))
                continue
            if key is None:
                again.append(one)
                continue
            task_id = one.key.task_id
            if task_id not in now:
                now[task_id] = Now(self.tasks[task_id], tools, key, self.images.get(task_id, {}), roles)
            parts = ("ERROR",) if one.result.status == "ERROR" else now[task_id].changed(one)
            why.update(parts)
            if parts:
                again.append(one)
            else:
                self.carried[one.key] = one.folder
        if unarchived:
            self.warn(
                f"{len(unarchived)} of {len(attempts)} attempts ended before a submission was archived and "
                f"stand unchanged, such as {unarchived[0]}; `scorehost run` scores the submission itself."
            )
        if self.changed_only:
            reasons = ", ".join(f"{count} since {_WHY[part]}" for part, count in sorted(why.items()))
            told = f": {reasons}" if reasons else ", since nothing changed"
            self.warn(f"{len(again)} of {len(attempts)} attempts are scored again{told}")
        return again

    def _tell_left_out(self) -> None:
        job, parent = self.parent.folder.job_id, self.parent
        for text in parent.damaged[:NAMED]:
            self.warn(f"left out, since it is damaged in {job}: {text}")
        if len(parent.damaged) > NAMED:
            self.warn(f"left out of {job}: {len(parent.damaged) - NAMED} more that are damaged")
        unfinished = parent.record.plan.planned - len(parent.attempts) - len(parent.damaged)
        if unfinished > 0:
            self.warn(f"{unfinished} attempts of {job} were never finished and are not scored here")

    def _check(self, again: list[Attempt]) -> None:
        """Bytes that are not those that were scored must not get a new score under the old name."""
        bad = []
        told: set[str] = set()
        for one in again:
            if fault := damage(one, self.parent.history):
                bad.append(f"{one.key}: {fault}")
            task_id = one.key.task_id
            if task_id not in told and (name := undeclared(one, self.tasks[task_id])):
                told.add(task_id)
                self.warn(f"{task_id} does not declare {name} any more: what lies there is not scored")
        if bad:
            more = f"\n  and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
            raise UsageError(
                "Archived artifacts are damaged:" + "".join(f"\n  {line}" for line in bad[:NAMED]) + more,
                hint="Leave their tasks out with --task, or score the submissions anew with `scorehost run`.",
            )

    def _source(self, one: Attempt) -> Source:
        error = one.result.error
        if error is not None and error.kind == REFUSED and one.result.digests.submission is None:
            return Source(refused=error.message)
        return Source(folder=one.folder)

    def _submissions(self, sources: Mapping[AttemptKey, Source]) -> tuple[Submission, ...]:
        hand_ins: dict[str, dict[str, dict[int, Source]]] = {}
        for key, source in sources.items():
            samples = hand_ins.setdefault(key.submission, {}).setdefault(key.task_id, {})
            samples.setdefault(key.sample, source)
        known = self.parent.record.submissions
        return tuple(Submission(one, hand_ins[one.name]) for one in known if one.name in hand_ins)


def _archived(one: Attempt) -> bool:
    """Whether the attempt came so far that its submission was kept, or refused for what it is."""
    error = one.result.error
    return one.result.digests.submission is not None or (error is not None and error.kind == REFUSED)
