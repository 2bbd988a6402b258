"""The plan of a job whose submissions are what an earlier one archived."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.attempt.digests import Tools
from scorehost.attempt.work import Work
from scorehost.errors import UsageError
from scorehost.jobs.plan import Plan, Warn
from scorehost.model.order import Order
from scorehost.runs.claim import locked
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import Attempt, ReadJob, read_job
from scorehost.runs.record import ParentRecord
from scorehost.scoring.rescore.archive import damage, undeclared
from scorehost.scoring.rescore.changes import Now, TaskImages, roles_now
from scorehost.scoring.subject import fingerprint, subject_of
from scorehost.spec.gold_key import gold_key
from scorehost.submissions.sample import Sample
from scorehost.submissions.submission import Submission

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.model.ids import AttemptKey
    from scorehost.scoring.choosing import Chosen
    from scorehost.spec.dataset import Task

Images = Mapping[str, TaskImages]
"""task id -> its images as the engine has them now"""

NAMED = 5
_WHY = {
    "task": "task.yaml changed",
    "dataset": "dataset.yaml changed",
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


def plan_again(chosen: Chosen, place: Path, warn: Warn, *, images: Images) -> Plan[Work]:
    """The plan of the archived attempts of the job at `place`, scored again. As `plan_score` raises."""
    parent = JobFolder(place)
    with suppress(OSError):  # an archive that nobody may write in is run by nobody
        with locked(parent.path):
            pass
    tasks = {task.task_id: task for task in chosen.tasks}
    return _Again(chosen, read_job(parent), tasks, warn, images).plan()


@dataclass(slots=True)
class _Again:
    chosen: Chosen
    parent: ReadJob
    tasks: Mapping[str, Task]
    warn: Warn
    images: Images
    carried: dict[AttemptKey, Path] = field(default_factory=dict)
    _by_dataset: dict[str, bool] = field(default_factory=dict)

    def plan(self) -> Plan[Work]:
        attempts = [one for one in self.parent.attempts if one.key.task_id in self.tasks]
        if not attempts:
            raise UsageError(
                f"The job {self.parent.folder.job_id} has no finished attempt of these tasks.",
                hint="Finish it with --resume, or choose other tasks.",
            )
        self._tell_left_out()
        again = self._to_score(attempts)
        self._check(again)
        samples = {one.key: self._sample(one) for one in attempts}
        places = {one.name: place for place, one in enumerate(self.parent.record.submissions)}
        # Tasks turn fastest, as in the parent.
        keys = sorted(samples, key=lambda k: (k.repeat, k.sample, places.get(k.submission, 0), k.task_id))
        tasks = {task_id: self.tasks[task_id] for task_id in sorted({key.task_id for key in keys})}
        held = {
            (one.key.task_id, one.key.submission, one.key.sample): one.result.digests.submission or REFUSED
            for one in reversed(attempts)
        }
        submissions = self._submissions(samples)
        subject = subject_of(self.chosen.dataset, tasks.values(), submissions, held)
        return Plan(
            asked=dataclasses.replace(self.chosen.asked.lasting(), submissions=(), submissions_dir=None),
            orders=tuple(
                Order(
                    key,
                    Work(tasks[key.task_id], samples[key]),
                    fingerprint(subject.tasks[key.task_id], held[key.task_id, key.submission, key.sample]),
                    tasks[key.task_id].spec.tags,
                )
                for key in keys
            ),
            subject=subject,
            as_first=functools.partial(
                subject_of, self.chosen.dataset, tasks.values(), submissions, held, first=True
            ),
            carried=self.carried,
            runner=Tools.read().tools.digest,
            parent=ParentRecord(job_id=self.parent.folder.job_id, root_hash=self.parent.history.last),
        )

    def _to_score(self, attempts: list[Attempt]) -> list[Attempt]:
        tools, now = Tools.read(), dict[str, Now]()
        dataset, changed = self.chosen.dataset, self.chosen.asked.changed
        key = gold_key(dataset) if changed else None
        roles = roles_now(dataset) if changed else {}
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
            parts = (
                ("ERROR",)
                if one.result.status == "ERROR"
                else self._named(task_id, now[task_id].changed(one))
            )
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
        if changed:
            reasons = ", ".join(f"{count} since {_WHY[part]}" for part, count in sorted(why.items()))
            told = f": {reasons}" if reasons else ", since nothing changed"
            self.warn(f"{len(again)} of {len(attempts)} attempts are scored again{told}")
        return again

    def _named(self, task_id: str, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The parts, where a task that reads otherwise by dataset.yaml is not said of its task.yaml."""
        if "task" not in parts or not self._by_dataset_file(task_id):
            return parts
        return tuple("dataset" if part == "task" else part for part in parts)

    def _by_dataset_file(self, task_id: str) -> bool:
        was = self.parent.record
        if task_id not in self._by_dataset:
            task = self.tasks[task_id]
            now = subject_of(self.chosen.dataset, [task], (), {})
            self._by_dataset[task_id] = task_id in was.tasks and was.by_dataset_file(now, task_id)
        return self._by_dataset[task_id]

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

    def _sample(self, one: Attempt) -> Sample:
        error = one.result.error
        if error is not None and error.kind == REFUSED and one.result.digests.submission is None:
            return Sample(refused=error.message)
        return Sample(folder=one.folder, exact=True)

    def _submissions(self, samples: Mapping[AttemptKey, Sample]) -> tuple[Submission, ...]:
        found: dict[str, dict[str, dict[int, Sample]]] = {}
        for key, sample in samples.items():
            numbered = found.setdefault(key.submission, {}).setdefault(key.task_id, {})
            numbered.setdefault(key.sample, sample)
        known = self.parent.record.submissions
        return tuple(Submission(one, found[one.name]) for one in known if one.name in found)


def _archived(one: Attempt) -> bool:
    """Whether the attempt came so far that its submission was kept, or refused for what it is."""
    error = one.result.error
    return one.result.digests.submission is not None or (error is not None and error.kind == REFUSED)
