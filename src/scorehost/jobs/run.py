"""A job from what it is asked to its outcome, whatever kind it is."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import anyio

from scorehost import __version__
from scorehost.aio.aside import aside
from scorehost.aio.opened import opened_aside
from scorehost.aio.retry import Retry
from scorehost.errors import DiskTrouble
from scorehost.files.atomic import write_atomic
from scorehost.jobs.checks import check_runner, check_running, check_unchanged
from scorehost.jobs.exit_status import exit_status, nothing_could_run
from scorehost.jobs.kind import A, W
from scorehost.jobs.ledger import Ledger
from scorehost.jobs.outcome import JobEvent, JobOutcome, Watch
from scorehost.jobs.plan import Desk, Plan
from scorehost.jobs.resume import parse_rerun, take_stock
from scorehost.jobs.schedule import End, Pace, Schedule
from scorehost.jobs.scoring import Clock, JobPlace, SystemClock, Upcoming
from scorehost.jobs.summary import mixed_tasks, summarise
from scorehost.model.ids import utc_now
from scorehost.model.json import dump
from scorehost.model.spelling import some
from scorehost.runs.folder import (
    JobFolder,
    find_job,
    known_folder,
    new_folder,
    point_latest,
)
from scorehost.runs.index import index_job
from scorehost.runs.journal import FILE, History, line_hash, open_journal, read_history, repairs
from scorehost.runs.provoked import Provoked, provoked
from scorehost.runs.reader import SUMMARY_FILE
from scorehost.runs.record import JobRecord, PlanRecord
from scorehost.runs.sweep import sweep
from scorehost.runs.warned import WARNING
from scorehost.runs.writer import Writer, open_writer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from scorehost.jobs.kind import Kind, Sitting
    from scorehost.jobs.running import Running
    from scorehost.model.order import Order
    from scorehost.model.summary import JobStatus, Summary


async def run_job(
    kind: Kind[A, W],
    sitting: Sitting[W],
    running: Running,
    watch: Watch,
    *,
    stop: anyio.Event,
    clock: Clock | None = None,
    begun: Callable[[str], None] = lambda _job_id: None,
    said: Sequence[str] = (),
) -> JobOutcome:
    """Plans, runs and sums up one job; with `running.resume` goes on with one.

    What scores is opened once the plan stands and the job's folder exists; `stop` asks the job to end, and
    running attempts are cancelled. Whatever happens once attempts may start, summary.json and the last events
    are written. Raises InputError for what was asked wrongly, DiskTrouble when the job cannot even begin, and
    what opening raises: then a new job leaves no folder. The plan comes before any attempt. `begun` is told
    the job's id when what scores is about to be opened; `said` are warnings that `watch` was told before.
    """
    time = clock or SystemClock()
    check_running(running)
    rerun = parse_rerun(running.rerun)
    warnings: list[str] = []
    async with _folder(running, warnings) as folder, open_writer(folder.path) as writer:
        plan = await sitting.plan(Desk(folder.incoming, warnings.append))
        record = await aside(lambda: _record(kind, plan, folder, warnings))
        parts = len(plan.subject.tasks) + len(plan.subject.submissions) + len(plan.tags)
        await writer.do(lambda: folder.reserve(parts))
        upcoming = Upcoming()
        history = await aside(lambda: read_history(folder.path / FILE)) if folder.begun else History()
        await aside(lambda: check_runner(plan, folder, history))
        place = JobPlace(
            folder.job_id, folder.path, upcoming, writer, history.calls, frozenset(history.results)
        )
        begun(folder.job_id)
        async with sitting.open(plan, place) as score:
            if not folder.begun:
                await writer.do(lambda: folder.write_record(record))
            with open_journal(folder.path, history) as journal:
                ledger = Ledger(folder, journal, writer, watch, time, private=running.private)
                ledger.calls, ledger.warned = history.calls, history.warned
                ledger.metrics = {
                    task_id: tuple(metric.id for metric in task.metrics)
                    for task_id, task in plan.subject.tasks.items()
                }
                job = _Job(kind, running, folder, record, plan, ledger, writer)
                end = End("interrupted")
                try:
                    for text in said:
                        ledger.was_said(text)
                    for text in repairs(history):  # events of their own say so in the journal
                        watch(JobEvent(WARNING, fields={"text": text}))
                    for text in warnings:
                        ledger.warn(text)
                    for what, fields in place.notes:
                        ledger.event(what, fields=fields)
                    retries = running.retry_errors if kind.retries == "machinery" else 0
                    todo = await take_stock(plan, history, ledger, rerun, retries=retries)
                    await job.announce(todo)
                    pace = Pace(sitting.concurrency, Retry(retries + 1), running.fail_fast)
                    schedule = Schedule(
                        todo, pace=pace, ledger=ledger, score=score, ping=sitting.ping, clock=time
                    )
                    upcoming.look = schedule.upcoming
                    end = await schedule.run(stop)
                except DiskTrouble as error:
                    end = End("disk", str(error))
                finally:
                    with anyio.CancelScope(shield=True):  # every wait inside has an end of its own
                        outcome = await job.close(end)
                return outcome


@asynccontextmanager
async def _folder(running: Running, warnings: list[str]) -> AsyncIterator[JobFolder]:
    if running.resume is not None:
        known = known_folder(await aside(lambda: find_job(running.out, running.resume or "")))
        async with opened_aside(known) as folder:
            yield folder
        return
    warnings += await aside(lambda: sweep(running.out))
    async with opened_aside(new_folder(running.out)) as folder:
        yield folder


def _record(kind: Kind[A, W], plan: Plan[W], folder: JobFolder, warnings: list[str]) -> JobRecord:
    """job.json as it is, or as it will be. UsageError when a job goes on and its input changed."""
    if not folder.begun:
        return JobRecord(
            **dict(plan.subject),
            kind=kind.tag,
            job_id=folder.job_id,
            created_at=utc_now(),
            scorehost=__version__,
            asked=kind.recorded(plan.asked),
            plan=PlanRecord(planned=len(plan.orders), digest=plan.digest, fingerprint=plan.fingerprint),
            parent=plan.parent,
        )
    known = folder.read_record()
    now = plan.subject_like(known)
    check_unchanged(kind, known, plan, now)
    if known.profile != now.profile:
        warnings.append("profiles.yaml is not as it was when the job began")
    return known


@dataclass(frozen=True, slots=True)
class _Job(Generic[A, W]):
    kind: Kind[A, W]
    running: Running
    folder: JobFolder
    record: JobRecord
    plan: Plan[W]
    ledger: Ledger
    writer: Writer

    async def announce(self, todo: tuple[Order[Any], ...]) -> None:
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
        decided = provoked(attempts.values(), self.plan.subject.tasks)
        if decided.words:
            self.ledger.warn(decided.words)
        status, message = self._status(end, decided)
        summary = summarise(
            self.kind,
            self.record,
            self.plan,
            attempts,
            status=status,
            message=message,
            carried=len(self.ledger.carried),
            calls=self.ledger.calls,
            warned=self.ledger.warned,
        )
        code = exit_status(
            self.running,
            gate=self.kind.gate(summary),
            why=end.why,
            status=status,
            attempts=attempts.values(),
            mean_score=summary.mean_score,
            direction=summary.direction,
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
            warnings=summary.warnings,
        )

    async def _write(self, summary: Summary, code: int) -> None:
        data = dump(summary.model_dump(mode="json"))
        await self.writer.do(lambda: write_atomic(self.folder.path / SUMMARY_FILE, data))
        await self.ledger.durably(
            "job_finished",
            fields={"status": summary.status, "exit_status": code, "summary": line_hash(data)},
        )
        await self.writer.do(lambda: index_job(self.folder, self.ledger.done.values()))

    def _status(self, end: End, decided: Provoked) -> tuple[JobStatus, str]:
        attempts = self.ledger.done
        mixed = mixed_tasks(attempts.values())
        if len(attempts) < len(self.plan.orders):
            status: JobStatus = "interrupted" if end.why == "interrupted" else "incomplete"
            return status, end.message or "Some attempts ended without a result; go on with --resume."
        if self.ledger.calls.invalid:
            shown = some(self.ledger.calls.invalid, between="; ")
            return "invalidated", f"Replies of agents were not made for this job: {shown}. Start a new job."
        if mixed:
            shown = some(mixed)
            return (
                "invalidated",
                f"Attempts of one task were scored by different inputs: {shown}. Start a new job.",
            )
        if decided.incomplete:
            shown = ", ".join(sorted(map(str, decided.incomplete))[:5])
            text = f"Agents failed at work that can have made them fail: {shown}. Nothing is said of these."
            return "incomplete", text
        if nothing_could_run(attempts.values()):
            return "complete", "Nothing was scored, for want of an engine or an image."
        return "complete", ""
