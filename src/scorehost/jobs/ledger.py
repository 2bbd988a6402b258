"""The running account of a job: what happened goes to the journal and the watcher, what is done is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from scorehost.errors import DiskTrouble
from scorehost.files.atomic import moved_folder
from scorehost.jobs.outcome import JobEvent, Row, Watch
from scorehost.model.ids import utc_now
from scorehost.model.result import GOOD
from scorehost.runs.carry import link_attempt
from scorehost.runs.manifest import MANIFEST_FILE
from scorehost.runs.reader import (
    ATTEMPTS,
    MANIFEST_BYTES,
    RESULT_BYTES,
    RESULT_FILE,
    Reader,
)
from scorehost.runs.reason import one_line, reason
from scorehost.runs.scored import Scored, scored
from scorehost.runs.tally import CallTally
from scorehost.runs.warned import WARNING, WarningTally, said_in
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scorehost.jobs.scoring import Clock
    from scorehost.model.ids import AttemptKey
    from scorehost.model.order import Order
    from scorehost.model.result import Result, ScoringDigests
    from scorehost.runs.folder import JobFolder
    from scorehost.runs.journal import Journal
    from scorehost.runs.writer import Steps, Writer

T = TypeVar("T")
SETTLE_SECONDS = 60.0  # for a disk to take a line


class Ledger:
    """Records of one running job. `moved_at` is when something last happened, on the job's clock."""

    def __init__(
        self,
        folder: JobFolder,
        journal: Journal,
        writer: Writer,
        watch: Watch,
        clock: Clock,
        *,
        private: bool = False,
    ) -> None:
        self.folder = folder
        self.journal = journal
        self.done: dict[AttemptKey, Scored] = {}
        self.carried: dict[AttemptKey, str] = {}  # those of `done` that an earlier job scored, and which
        self.phases: dict[AttemptKey, str] = {}  # of the attempts that run
        self.metrics: Mapping[str, tuple[str, ...]] = {}  # ids of those that each task declares
        self.moved_at = clock.now()
        self.on_disk_trouble: Callable[[DiskTrouble], None] = lambda _error: None
        self._writer = writer
        self._trouble: BaseException | None = None  # of a line that nobody waited for
        self._watch = watch
        self._clock = clock
        self._private = private
        self._reasons: dict[AttemptKey, str] = {}  # of those that are not PASS
        self._digests: dict[str, ScoringDigests] = {}  # by their JSON
        self.calls = CallTally()  # of agents, also those before the job was resumed
        self.warned = WarningTally()  # the same of warnings; those of attempts are in it while these stand
        self._may_go: dict[AttemptKey, tuple[str, ...]] = {}  # warnings of those that may be tried again

    def event(
        self,
        kind: str,
        key: AttemptKey | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        shown: Mapping[str, Any] | None = None,
        lazy: bool = False,
    ) -> None:
        """Has an event journaled and tells the watcher (`shown` in place of `fields`); it waits for no disk.

        Lines come in the order of events. When one cannot be written `on_disk_trouble` is told, and the next
        `flush` raises. `lazy`: a crash of this process may lose the line. Free text may repeat an engine's
        words: secrets of the controller are masked in it.
        """
        told = self._told(fields)
        self._writer.post(self._line(kind, key, told), self._failed, lazy=lazy)
        self._note(kind, key, told)
        self._watch(JobEvent(kind, key, told if shown is None else shown))

    async def durably(
        self,
        kind: str,
        key: AttemptKey | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        shown: Mapping[str, Any] | None = None,
    ) -> None:
        """The same for an event that survives a power cut when this returns. Raises DiskTrouble."""
        told = self._told(fields)
        await self._settled(self._lines(self._line(kind, key, told)))
        self._note(kind, key, told)
        self._watch(JobEvent(kind, key, told if shown is None else shown))

    def _note(self, kind: str, key: AttemptKey | None, told: Mapping[str, Any]) -> None:
        self.calls.note(kind, str(key), told)
        self.warned.note(kind, None if key is None else str(key), told)

    async def flush(self) -> None:
        """Waits until every line is written. Raises the DiskTrouble of the first that could not be."""
        await self._settled(self._lines())
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    def _told(self, fields: Mapping[str, Any] | None) -> Mapping[str, Any]:
        self.moved_at = self._clock.now()
        if fields is not None and "text" in fields:
            return {**fields, "text": own_masker().text(str(fields["text"]))}
        return fields or {}

    def _line(self, kind: str, key: AttemptKey | None, fields: Mapping[str, Any]) -> Callable[[], None]:
        at = utc_now()
        return lambda: self.journal.write(kind, key, fields, at=at)

    def _lines(self, *lines: Callable[[], None]) -> Steps[None]:
        for line in lines:
            line()
        if lines:
            yield (self.journal.descriptor,)

    async def _settled(self, steps: Steps[T]) -> T:
        """What is under way is not half done when somebody cancels; a disk that hangs is given up."""
        with anyio.move_on_after(SETTLE_SECONDS, shield=True):
            return await self._writer.durable(steps)
        raise DiskTrouble(
            f"The disk of {self.folder.path} has not answered for {SETTLE_SECONDS:.0f} s.",
            hint="Look at that file system, then go on with --resume.",
        )

    def _failed(self, error: BaseException) -> None:
        self._trouble = self._trouble or error
        if isinstance(error, DiskTrouble):
            self.on_disk_trouble(error)

    def warn(self, text: str, key: AttemptKey | None = None) -> None:
        """Journals and shows a warning."""
        self.event(WARNING, key, {"text": text})

    def was_said(self, text: str) -> None:
        """Journals a warning that the watcher was told before there was a journal."""
        told = self._told({"text": text})
        self._writer.post(self._line(WARNING, None, told), self._failed)
        self._note(WARNING, None, told)

    def emitter(self, key: AttemptKey) -> Callable[[str, Mapping[str, Any]], None]:
        """The `emit` of one attempt. It never raises: a full disk ends the job instead of a clean-up."""

        def emit(kind: str, fields: Mapping[str, Any]) -> None:
            if kind == "phase":
                self.phases[key] = str(fields.get("phase", ""))
            self.event(kind, key, fields, lazy=kind == "phase")

        return emit

    def started(self, order: Order[Any]) -> None:
        """An attempt begins."""
        self.phases[order.key] = ""
        self.event("attempt_started", order.key, {"number": order.number})

    def ended(self, order: Order[Any]) -> None:
        """An attempt runs no more, whatever came of it."""
        self.phases.pop(order.key, None)

    async def finished(self, order: Order[Any], result: Result) -> Scored:
        """An attempt was published; durable when this returns. Raises DiskTrouble."""
        one = self._kept(order, result)
        fields = {
            "number": order.number,
            "status": result.status,
            "score": result.score,
            "error": None if result.error is None else result.error.kind,
        }
        at = utc_now()

        def steps() -> Steps[str]:
            with Reader(self.folder.attempt(order.key)) as reader:
                hashes = {
                    "result": reader.digest(RESULT_FILE, RESULT_BYTES),
                    "manifest": reader.digest(MANIFEST_FILE, MANIFEST_BYTES),
                }
                why = reason(one, reader.checks, private=self._private)
            self.journal.write("attempt_finished", order.key, {**fields, **hashes}, at=at)
            yield (self.journal.descriptor,)
            return why

        why = await self._settled(steps())
        self.moved_at = self._clock.now()
        self.done[order.key] = one
        self.warned.of_attempt(str(order.key), said_in(result))
        if result.error is not None and result.error.retryable:
            self._may_go[order.key] = said_in(result)
        if why:
            self._reasons[order.key] = why
        self._watch(JobEvent("attempt_finished", order.key, {"row": self.row(one)}))
        return one

    def found(self, order: Order[Any], result: Result) -> None:
        """An attempt was finished before: in an earlier sitting, or by the job that the result names."""
        self.done[order.key] = self._kept(order, result)
        self.warned.of_attempt(str(order.key), said_in(result))
        if result.job_id != self.folder.job_id:
            self.carried[order.key] = result.job_id

    def _kept(self, order: Order[Any], result: Result) -> Scored:
        # Of what is the same in most attempts one copy serves all: a job keeps some 300 bytes of each.
        one = scored(result, self.metrics.get(order.key.task_id, ()))
        digests = one.digests
        if digests is not None:
            digests = self._digests.setdefault(digests.model_dump_json(), digests)
        return replace(one, key=order.key, digests=digests)

    async def carry(self, stands: Sequence[tuple[Order[Any], Path]]) -> None:
        """Attempts that an earlier job scored, whose folders are given, stand in this one, durably.

        Raises DiskTrouble, and UsageError when one has gone.
        """

        def steps(some: Sequence[tuple[Order[Any], Path]]) -> Steps[list[Result]]:
            linked = [link_attempt(source, self.folder.attempt(order.key)) for order, source in some]
            yield [path for one in linked for path in one.unsettled]
            for (order, _), one in zip(some, linked, strict=True):
                result = one.result
                told = {"from": result.job_id, "number": result.try_number, "status": result.status}
                self.journal.write("attempt_carried", order.key, {**told, **one.hashes})
            yield (self.journal.descriptor,)
            return [one.result for one in linked]

        for some in (stands[at : at + _AT_ONCE] for at in range(0, len(stands), _AT_ONCE)):
            results = await self._writer.durable(steps(some))
            self.moved_at = self._clock.now()
            for (order, _), result in zip(some, results, strict=True):
                self.found(order, result)
                told = {"from": result.job_id, "number": result.try_number, "status": result.status}
                self._watch(JobEvent("attempt_carried", order.key, told))

    async def set_aside(self, order: Order[Any], number: int, kind: str, fields: Mapping[str, Any]) -> None:
        """Moves an attempt's folder to `tries/<key>/<number>` and tells so; it is unfinished again."""
        self.done.pop(order.key, None)
        self.carried.pop(order.key, None)
        self._reasons.pop(order.key, None)
        self.warned.take_back(str(order.key), self._may_go.pop(order.key, ()))
        kept = self.folder.tries(order.key) / str(number)
        told = self._told({"number": number, **fields})
        line = self._line(kind, order.key, told)

        def steps() -> Steps[None]:
            yield moved_folder(self.folder.attempt(order.key), kept)
            yield from self._lines(line)

        await self._settled(steps())
        self._watch(JobEvent(kind, order.key, told))

    def row(self, one: Scored) -> Row:
        """The attempt as tables show it."""
        return Row(
            key=one.key,
            status=one.status,
            score=one.score,
            seconds=one.seconds,
            reason=self._reasons.get(one.key, ""),
            error=one.error,
            warnings=one.warnings,
        )

    def _why(self, one: Scored, reader: Reader) -> str:
        """Why it is not PASS, as its files say it; blocks."""
        return reason(one, lambda: reader.checks(f"{ATTEMPTS}/{one.key.folder}"), private=self._private)

    async def explain(self) -> None:
        """Reads why attempts of earlier sittings are not PASS, before rows of them are asked for."""
        unread = [
            one for one in self.done.values() if one.status not in GOOD and one.key not in self._reasons
        ]

        def read() -> dict[AttemptKey, str]:
            with Reader(self.folder.path) as reader:
                return {one.key: self._why(one, reader) for one in unread}

        if unread:
            self._reasons |= await self._writer.do(read)

    def rows(self, orders: Iterable[Order[Any]]) -> tuple[Row, ...]:
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
_AT_ONCE = 256  # attempts that are carried over by one wait for the disk


def unforeseen_text(error: Exception) -> str:
    """A line about an error that no one planned for; its own text may hold gold and stays out."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
    return one_line(
        f"scoring ended by {type(error).__name__}{where}, a defect of scorehost; the attempt is unfinished"
    )
