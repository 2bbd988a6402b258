"""The running account of a job: what happened goes to the journal and the watcher, what is done is kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorehost.errors import DiskFull
from scorehost.files.atomic import move_folder
from scorehost.jobs.outcome import JobEvent, Row, Watch
from scorehost.runs.reason import one_line, reason
from scorehost.runs.scored import Scored, scored
from scorehost.runs.tally import CallTally
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scorehost.attempt.order import Order
    from scorehost.jobs.scoring import Clock
    from scorehost.model.ids import AttemptKey
    from scorehost.model.result import Result, ScoringDigests
    from scorehost.runs.folder import JobFolder
    from scorehost.runs.journal import Journal


class Ledger:
    """Records of one running job. `moved_at` is when something last happened, on the job's clock."""

    def __init__(
        self, folder: JobFolder, journal: Journal, watch: Watch, clock: Clock, *, private: bool = False
    ) -> None:
        self.folder = folder
        self.journal = journal
        self.done: dict[AttemptKey, Scored] = {}
        self.carried: dict[AttemptKey, str] = {}  # those of `done` that an earlier job scored, and which
        self.phases: dict[AttemptKey, str] = {}  # of the attempts that run
        self.moved_at = clock.now()
        self.on_disk_full: Callable[[DiskFull], None] = lambda _error: None
        self._watch = watch
        self._clock = clock
        self._private = private
        self._reasons: dict[AttemptKey, str] = {}  # of those that are not PASS
        self._digests: dict[str, ScoringDigests] = {}  # by their JSON
        self.calls = CallTally()  # of agents, also those before the job was resumed

    def event(
        self,
        kind: str,
        key: AttemptKey | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        durable: bool = False,
        shown: Mapping[str, Any] | None = None,
    ) -> None:
        """Journals an event and tells the watcher (`shown` in place of `fields`). Raises DiskFull.

        Free text may repeat an engine's words: secrets of the controller are masked in it.
        """
        self.moved_at = self._clock.now()
        if fields is not None and "text" in fields:
            fields = {**fields, "text": own_masker().text(str(fields["text"]))}
        self.journal.write(kind, key, fields, durable=durable)
        self.calls.note(kind, str(key), fields or {})
        self._watch(JobEvent(kind, key, fields or {} if shown is None else shown))

    def warn(self, text: str, key: AttemptKey | None = None) -> None:
        """Journals and shows a warning."""
        self.event("warning", key, {"text": text})

    def emitter(self, key: AttemptKey) -> Callable[[str, Mapping[str, Any]], None]:
        """The `emit` of one attempt. It never raises: a full disk ends the job instead of a clean-up."""

        def emit(kind: str, fields: Mapping[str, Any]) -> None:
            if kind == "phase":
                self.phases[key] = str(fields.get("phase", ""))
            try:
                self.event(kind, key, fields)
            except DiskFull as error:
                self.on_disk_full(error)

        return emit

    def started(self, order: Order) -> None:
        """An attempt begins."""
        self.phases[order.key] = ""
        self.event("attempt_started", order.key, {"number": order.number})

    def ended(self, order: Order) -> None:
        """An attempt runs no more, whatever came of it."""
        self.phases.pop(order.key, None)

    def finished(self, order: Order, result: Result) -> Scored:
        """An attempt was published; durable when this returns."""
        one = self._kept(order, result)
        folder = self.folder.attempt(order.key)
        fields = {
            "number": order.number,
            "status": result.status,
            "score": result.score,
            "error": None if result.error is None else result.error.kind,
            "result": file_hash(folder / "result.json"),
            "manifest": file_hash(folder / "manifest.json"),
        }
        self.done[order.key] = one
        self.event("attempt_finished", order.key, fields, durable=True, shown={"row": self.row(one)})
        return one

    def found(self, order: Order, result: Result) -> None:
        """An attempt was finished before: in an earlier sitting, or by the job that the result names."""
        self.done[order.key] = self._kept(order, result)
        if result.job_id != self.folder.job_id:
            self.carried[order.key] = result.job_id

    def _kept(self, order: Order, result: Result) -> Scored:
        # Of what is the same in most attempts one copy serves all: a job keeps some 300 bytes of each.
        one = scored(result, order.task)
        digests = one.digests
        if digests is not None:
            digests = self._digests.setdefault(digests.model_dump_json(), digests)
        return replace(one, key=order.key, digests=digests)

    def carry(self, order: Order, result: Result, hashes: Mapping[str, str | None]) -> None:
        """An attempt that an earlier job scored stands in this one; `hashes` of its result and manifest."""
        self.found(order, result)
        fields = {"from": result.job_id, "number": result.try_number, "status": result.status, **hashes}
        self.event("attempt_carried", order.key, fields)

    def set_aside(self, order: Order, number: int, kind: str, fields: Mapping[str, Any]) -> None:
        """Moves an attempt's folder to `tries/<key>/<number>` and tells so; it is unfinished again."""
        self.done.pop(order.key, None)
        self.carried.pop(order.key, None)
        self._reasons.pop(order.key, None)
        move_folder(self.folder.attempt(order.key), self.folder.tries(order.key) / str(number))
        self.event(kind, order.key, {"number": number, **fields}, durable=True)

    def row(self, one: Scored) -> Row:
        """The attempt as tables show it."""
        return Row(
            key=one.key,
            status=one.status,
            score=one.score,
            seconds=one.seconds,
            reason="" if one.status == "PASS" else self._reason(one),
            error=one.error,
        )

    def _reason(self, one: Scored) -> str:
        if one.key not in self._reasons:
            folder = self.folder.attempt(one.key)
            self._reasons[one.key] = reason(one, folder, private=self._private)
        return self._reasons[one.key]

    def rows(self, orders: Iterable[Order]) -> tuple[Row, ...]:
        """The finished attempts as rows, by task, submission, sample and repeat in the order of the plan."""
        ordered = sorted(
            (order.key for order in orders if order.key in self.done),
            key=lambda key: (key.task_id, key.submission, key.sample, key.repeat),
        )
        return tuple(self.row(self.done[key]) for key in ordered)

    def waiting(self, seconds: float) -> None:
        """Tells which attempts the job waits for, when nothing happened for `seconds`."""
        shown = [
            f"{key} ({phase})" if phase else str(key) for key, phase in list(self.phases.items())[:_NAMED]
        ]
        more = len(self.phases) - len(shown)
        rest = f" and {more} more" if more > 0 else ""
        names = ", ".join(shown) + rest if shown else "the engine"
        self.event("waiting", fields={"text": f"nothing moved for {seconds:.0f} s; waiting for {names}"})


_NAMED = 5


def file_hash(path: Path) -> str | None:
    """The hex sha256 of a small file; None when it is not there."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def unforeseen_text(error: Exception) -> str:
    """A line about an error that no one planned for; its own text may hold gold and stays out."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
    return one_line(
        f"scoring ended by {type(error).__name__}{where}, a defect of scorehost; the attempt is unfinished"
    )
