"""A job from what it is asked to its outcome, whatever kind it is."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from scorehost import __version__
from scorehost.errors import DiskFull
from scorehost.files.atomic import write_atomic
from scorehost.jobs.checks import check_running, check_unchanged
from scorehost.jobs.exit_status import exit_status, nothing_could_run
from scorehost.jobs.kind import A, W
from scorehost.jobs.ledger import Ledger
from scorehost.jobs.outcome import JobOutcome, Watch
from scorehost.jobs.plan import Desk, Plan
from scorehost.jobs.resume import parse_rerun, take_stock
from scorehost.jobs.schedule import End, Pace, Schedule
from scorehost.jobs.scoring import Clock, JobPlace, SystemClock, Upcoming
from scorehost.jobs.summary import mixed_tasks, summarise
from scorehost.model.ids import utc_now
from scorehost.model.json import dump
from scorehost.runs.folder import (
    SUMMARY_FILE,
    JobFolder,
    find_job,
    known_folder,
    new_folder,
    point_latest,
    sweep,
)
from scorehost.runs.journal import FILE, History, line_hash, open_journal, read_history
from scorehost.runs.record import JobRecord, PlanRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import anyio

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
) -> JobOutcome:
    """Plans, runs and sums up one job; with `running.resume` goes on with one.

    What scores is opened once the plan stands and the job's folder exists; `stop` asks the job to end, and
    running attempts are cancelled. Whatever happens once attempts may start, summary.json and the last events
    are written. Raises InputError for what was asked wrongly, DiskFull when the job cannot even begin, and
    what opening raises: then a new job leaves no folder. The plan comes before any attempt. `begun` is told
    the job's id when what scores is about to be opened.
    """
    time = clock or SystemClock()
    check_running(running)
    rerun = parse_rerun(running.rerun)
    with _folder(running) as folder:
        warnings: list[str] = []
        plan = await sitting.plan(Desk(folder.incoming, warnings.append))
        record = _record(kind, plan, folder, warnings)
        folder.reserve(len(plan.subject.tasks) + len(plan.subject.submissions) + len(plan.tags))
        upcoming = Upcoming()
        history = read_history(folder.path / FILE) if folder.begun else History()
        place = JobPlace(folder.job_id, folder.path, upcoming, history.calls)
        begun(folder.job_id)
        async with sitting.open(plan, place) as score:
            if not folder.begun:
                folder.write_record(record)
            with open_journal(folder.path, history) as journal:
                ledger = Ledger(folder, journal, watch, time, private=running.private)
                ledger.calls = history.calls
                ledger.metrics = {
                    task_id: tuple(metric.id for metric in task.metrics)
                    for task_id, task in plan.subject.tasks.items()
                }
                job = _Job(kind, running, folder, record, plan, ledger)
                end = End("interrupted")
                try:
                    for text in warnings:
                        ledger.warn(text)
                    for what, fields in place.notes:
                        ledger.event(what, fields=fields)
                    todo = take_stock(plan, history, ledger, rerun)
                    job.announce(todo)
                    retries = running.retry_errors if kind.retries == "machinery" else 0
                    pace = Pace(sitting.concurrency, retries, running.fail_fast)
                    schedule = Schedule(
                        todo, pace=pace, ledger=ledger, score=score, ping=sitting.ping, clock=time
                    )
                    upcoming.look = schedule.upcoming
                    end = await schedule.run(stop)
                except DiskFull as error:
                    end = End("disk", str(error))
                finally:
                    outcome = job.close(end)
                return outcome


@contextmanager
def _folder(running: Running) -> Iterator[JobFolder]:
    if running.resume is not None:
        with known_folder(find_job(running.out, running.resume)) as folder:
            yield folder
        return
    sweep(running.out)
    with new_folder(running.out) as folder:
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
    check_unchanged(kind, known, plan)
    if known.profile != plan.subject.profile:
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

    def announce(self, todo: tuple[Order[Any], ...]) -> None:
        planned, done = len(self.plan.orders), len(self.plan.orders) - len(todo)
        job_hash = line_hash((self.folder.path / "job.json").read_bytes())
        counts = {"planned": planned, "done": done}
        self.ledger.event(
            "job_started",
            fields={**counts, "job": job_hash, **self._parent()},
            durable=True,
            shown={**counts, "folder": str(self.folder.path)},
        )
        warning = point_latest(self.folder)
        if warning:
            self.ledger.warn(warning)

    def _parent(self) -> dict[str, str]:
        parent = self.record.parent
        return {} if parent is None else {"parent": parent.job_id, "parent_root": parent.root_hash}

    def close(self, end: End) -> JobOutcome:
        """Writes summary.json and the last event, whatever ended the job."""
        self.folder.release()
        attempts = self.ledger.done
        status, message = self._status(end)
        summary = summarise(
            self.kind,
            self.record,
            self.plan,
            attempts,
            status=status,
            message=message,
            carried=len(self.ledger.carried),
            calls=self.ledger.calls,
        )
        code = exit_status(
            self.running,
            gate=self.kind.gate(summary),
            why=end.why,
            status=status,
            attempts=attempts.values(),
            mean_score=summary.mean_score,
        )
        try:
            self._write(summary, code)
        except DiskFull as error:
            # The attempts are safe; only their sum is missing, and a resume writes it.
            message = str(error)
            code = code if code == 130 else DiskFull.exit_status  # noqa: PLR2004 - a signal says more
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

    def _write(self, summary: Summary, code: int) -> None:
        data = dump(summary.model_dump(mode="json"))
        write_atomic(self.folder.path / SUMMARY_FILE, data)
        self.ledger.event(
            "job_finished",
            fields={"status": summary.status, "exit_status": code, "summary": line_hash(data)},
            durable=True,
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
