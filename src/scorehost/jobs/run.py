"""A job from its options to its outcome."""

from __future__ import annotations

import dataclasses
import functools
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from scorehost import __version__
from scorehost.aio.aside import aside
from scorehost.errors import DiskTrouble
from scorehost.files.atomic import write_atomic
from scorehost.jobs.exit_status import exit_status, nothing_could_run
from scorehost.jobs.ledger import Ledger
from scorehost.jobs.outcome import JobOutcome, Watch
from scorehost.jobs.plan import Plan, check_options
from scorehost.jobs.resume import check_unchanged, parse_rerun, resumed_options, take_stock
from scorehost.jobs.schedule import End, Pace, Schedule
from scorehost.jobs.scoring import Clock, JobPlace, OpenScoring, Ping, SystemClock, Upcoming
from scorehost.jobs.summary import mixed_tasks, summarise
from scorehost.model.ids import utc_now
from scorehost.model.json import dump
from scorehost.runs.folder import (
    JobFolder,
    find_job,
    known_folder,
    new_folder,
    point_latest,
)
from scorehost.runs.journal import FILE, History, line_hash, open_journal, read_history
from scorehost.runs.reader import SUMMARY_FILE
from scorehost.runs.record import (
    JobRecord,
    PlanRecord,
    asked,
    dataset_record,
    task_record,
)
from scorehost.runs.sweep import sweep
from scorehost.runs.writer import Writer, open_writer
from scorehost.scoring.rescore.plan import Images, parent_record, plan_for
from scorehost.spec.digests import profile_digest
from scorehost.spec.gold_key import gold_key
from scorehost.submissions.finding import Warn, lasting_word

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scorehost.attempt.order import Order
    from scorehost.jobs.options import RunOptions
    from scorehost.model.summary import JobStatus, Summary
    from scorehost.spec.dataset import Dataset


async def run_job(
    options: RunOptions,
    dataset: Dataset,
    scoring: OpenScoring,
    watch: Watch,
    *,
    ping: Ping,
    stop: anyio.Event,
    clock: Clock | None = None,
    images: Images | None = None,
) -> JobOutcome:
    """Plans, runs and sums up one job; with `options.resume` goes on with one (see `resumed_options`).

    With `options.parent` the archived artifacts of that job are scored; `images` are those that the engine
    has now, for `options.changed` (see `rescore.plan`).

    `scoring` is opened once the plan stands and the job's folder exists; `stop` asks the job to end, and
    running attempts are cancelled. Whatever happens once attempts may start, summary.json and the last events
    are written. Raises UsageError and SpecError for what was asked wrongly, DiskTrouble when the job cannot
    even begin, and what opening `scoring` raises: then a new job leaves no folder. Reading, unpacking and
    hashing come before any attempt, in a thread that a cancel ends.
    """
    time = clock or SystemClock()
    options = resumed_options(options)
    check_options(options)
    rerun = parse_rerun(options.rerun)
    warnings: list[str] = list(dataset.warnings)
    async with _folder(options, warnings) as folder, open_writer(folder.path) as writer:
        plan, record = await aside(
            functools.partial(_planned, options, dataset, folder, warnings.append, images=images)
        )
        parts = len(plan.tasks) + len(plan.submissions) + len(_tags(plan))
        await writer.do(lambda: folder.reserve(parts))
        upcoming = Upcoming()
        history = await aside(lambda: read_history(folder.path / FILE)) if folder.begun else History()
        place = JobPlace(folder.job_id, folder.path, upcoming, writer, history.calls)
        async with scoring(place) as score:
            if not folder.begun:
                await writer.do(lambda: folder.write_record(record))
            with open_journal(folder.path, history) as journal:
                ledger = Ledger(folder, journal, writer, watch, time, private=options.private)
                ledger.calls = history.calls
                job = _Job(options, folder, record, plan, ledger, writer)
                end = End("interrupted")
                try:
                    for text in warnings:
                        ledger.warn(text)
                    for kind, fields in place.notes:
                        ledger.event(kind, fields=fields)
                    todo = await take_stock(plan, history, ledger, rerun)
                    await job.announce(todo)
                    pace = Pace(concurrency_of(options, dataset), options.retry_errors, options.fail_fast)
                    schedule = Schedule(todo, pace=pace, ledger=ledger, score=score, ping=ping, clock=time)
                    upcoming.look = schedule.upcoming
                    end = await schedule.run(stop)
                except DiskTrouble as error:
                    end = End("disk", str(error))
                finally:
                    with anyio.CancelScope(shield=True):  # every wait inside has an end of its own
                        outcome = await job.close(end)
                return outcome


def concurrency_of(options: RunOptions, dataset: Dataset) -> int:
    """Attempts at a time: the option, else the profile's number, else one for each core of this machine."""
    if options.concurrency is not None:
        return options.concurrency
    profile = dataset.profiles.concurrency
    return (os.cpu_count() or 1) if profile == "auto" else profile


def _planned(
    options: RunOptions, dataset: Dataset, folder: JobFolder, warn: Warn, *, images: Images | None
) -> tuple[Plan, JobRecord]:
    plan = plan_for(options, dataset, staging=folder.incoming, warn=warn, images=images)
    record = _record(options, dataset, plan, folder)
    if not folder.begun:
        return plan, record
    known = folder.read_record()
    check_unchanged(known, dataset, plan)
    if known.profile != profile_digest(dataset.profiles, first=known.dataset.gold_key is None):
        warn("profiles.yaml is not as it was when the job began")
    return plan, known


def _tags(plan: Plan) -> set[str]:
    return {tag for task in plan.tasks.values() for tag in task.spec.tags}


@asynccontextmanager
async def _folder(options: RunOptions, warnings: list[str]) -> AsyncIterator[JobFolder]:
    if options.resume is not None:
        with known_folder(find_job(options.out, options.resume)) as folder:
            yield folder
        return
    warnings += await aside(lambda: sweep(options.out))
    with new_folder(options.out) as folder:
        yield folder


def _record(options: RunOptions, dataset: Dataset, plan: Plan, folder: JobFolder) -> JobRecord:
    named = () if options.parent is not None else plan.submissions  # a parent's archive needs no words
    words = dict.fromkeys(lasting_word(one) for one in named)
    # What --submissions found is kept as single words, so that a folder that grows later changes no job.
    lasting = dataclasses.replace(options, submissions_dir=None)
    key = gold_key(dataset)
    return JobRecord(
        job_id=folder.job_id,
        created_at=utc_now(),
        scorehost=__version__,
        asked=asked(lasting, tuple(word for word in words if word is not None)),
        dataset=dataset_record(dataset, key),
        profile=profile_digest(dataset.profiles),
        tasks={task_id: task_record(task, key) for task_id, task in plan.tasks.items()},
        submissions=tuple(one.record for one in plan.submissions),
        samples={
            one.name: sum(len(samples) for samples in one.hand_ins.values()) for one in plan.submissions
        },
        plan=PlanRecord(planned=len(plan.orders), digest=plan.digest),
        parent=parent_record(options),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    options: RunOptions
    folder: JobFolder
    record: JobRecord
    plan: Plan
    ledger: Ledger
    writer: Writer

    async def announce(self, todo: tuple[Order, ...]) -> None:
        planned, done = len(self.plan.orders), len(self.plan.orders) - len(todo)
        counts = {"planned": planned, "done": done}
        await self.ledger.flush()
        await self.ledger.durably(
            "job_started",
            fields={**counts, "job": await self.writer.do(self.folder.record_hash), **self._parent()},
            shown={**counts, "folder": str(self.folder.path)},
        )
        warning = await self.writer.do(lambda: point_latest(self.folder))
        if warning:
            self.ledger.warn(warning)

    def _parent(self) -> dict[str, str]:
        parent = self.record.parent
        return {} if parent is None else {"parent": parent.job_id, "parent_root": parent.root_hash}

    async def close(self, end: End) -> JobOutcome:
        """Writes summary.json and the last event, whatever ended the job."""
        with suppress(DiskTrouble):  # what could not be told is told by how the job ends
            await self.writer.do(self.folder.release)
            await self.ledger.flush()
            await self.ledger.explain()
        attempts = self.ledger.done
        status, message = self._status(end)
        summary = summarise(
            self.record,
            self.plan,
            attempts,
            status=status,
            message=message,
            carried=len(self.ledger.carried),
            calls=self.ledger.calls,
        )
        code = exit_status(
            self.options,
            why=end.why,
            status=status,
            attempts=attempts.values(),
            mean_score=summary.mean_score,
        )
        try:
            await self._write(summary, code)
        except DiskTrouble as error:
            # The attempts are safe; only their sum is missing, and a resume writes it.
            message = str(error)
            code = code if code == 130 else DiskTrouble.exit_status  # noqa: PLR2004 - a signal says more
        return JobOutcome(
            job_id=self.folder.job_id,
            folder=self.folder.path,
            status=status,
            summary=summary.model_dump(mode="json"),
            rows=self.ledger.rows(self.plan.orders),
            root_hash=self.ledger.journal.root_hash,
            exit_status=code,
            message=message,
        )

    async def _write(self, summary: Summary, code: int) -> None:
        data = dump(summary.model_dump(mode="json"))
        await self.writer.do(lambda: write_atomic(self.folder.path / SUMMARY_FILE, data))
        await self.ledger.durably(
            "job_finished",
            fields={"status": summary.status, "exit_status": code, "summary": line_hash(data)},
        )

    def _status(self, end: End) -> tuple[JobStatus, str]:
        attempts = self.ledger.done
        mixed = mixed_tasks(attempts.values())
        if len(attempts) < len(self.plan.orders):
            status: JobStatus = "interrupted" if end.why == "interrupted" else "incomplete"
            return status, end.message or "Some attempts ended without a result; go on with --resume."
        if self.ledger.calls.invalid:
            shown = "; ".join(self.ledger.calls.invalid[:5])
            return "invalidated", f"Replies of agents were not made for this job: {shown}. Start a new job."
        if mixed:
            shown = ", ".join(mixed[:5])
            return (
                "invalidated",
                f"Attempts of one task were scored by different inputs: {shown}. Start a new job.",
            )
        if nothing_could_run(attempts.values()):
            return "complete", "Nothing was scored, for want of an engine or an image."
        return "complete", ""
