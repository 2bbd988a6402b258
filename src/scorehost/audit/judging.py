"""What the verdicts of an audit's job say of each task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.audit.clock import SHIFT_WORDS
from scorehost.audit.commands import CLOCK, REPEATS
from scorehost.audit.static import suspicions
from scorehost.model.audit import AuditFinding, HandIn, Level, Passed
from scorehost.model.failure import Blame, Phase
from scorehost.runs.reader import BadFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scorehost.model.audit import Kit
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.spec.dataset import Task

Command = Callable[[str, HandIn], str]
_LEVELS: tuple[Level, ...] = ("defect", "error", "warning")
_EMPTY_LABEL = "nothing at all"
_METRICS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an audit found; `unsound` are tasks that gave PASS to what must not pass.

    `mutants` of which `survivors` passed are those that were scored.
    """

    findings: tuple[AuditFinding, ...]
    passed: tuple[Passed, ...]
    unsound: tuple[str, ...]
    mutants: int
    survivors: int


def judge(
    tasks: Mapping[str, Task], job: ReadJob, kit: Kit, command: Command, *, ahead: Sequence[Attempt] = ()
) -> Judgement:
    """Judges every task of `tasks` by the attempts of `job`; `command` shows a kind of finding again.

    `ahead` are attempts at solutions with the clock moved.
    """
    attempts: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for one in job.attempts:
        attempts[one.key.task_id, one.key.submission].append(one)
    staged: dict[str, list[HandIn]] = defaultdict(list)
    for hand_in in kit.hand_ins:
        staged[hand_in.task_id].append(hand_in)
    book = _Book(command, job)
    for task in tasks.values():
        _judge_task(task, staged[task.task_id], attempts, book)
    for one in ahead:
        _by_the_clock(one, attempts.get((one.key.task_id, "solution"), ()), book)
    order = sorted(book.findings, key=lambda one: (_LEVELS.index(one.level), one.task_id))
    passed = [Passed(label=label, tasks=tuple(sorted(found))) for label, found in book.passed.items()]
    return Judgement(
        findings=tuple(order),
        passed=tuple(sorted(passed, key=lambda one: (-len(one.tasks), one.label))),
        unsound=tuple(sorted({task for found in book.passed.values() for task in found})),
        mutants=book.mutants,
        survivors=sum(one.kind == "mutant-passes" for one in order),
    )


@dataclass(slots=True)
class _Book:
    command: Command
    job: ReadJob
    findings: list[AuditFinding] = field(default_factory=list)
    passed: dict[str, set[str]] = field(default_factory=dict)
    mutants: int = 0

    def add(self, level: Level, kind: str, hand_in: HandIn, text: str) -> None:
        self.findings.append(
            AuditFinding(
                level=level,
                kind=kind,
                task_id=hand_in.task_id,
                submission=hand_in.name,
                text=text,
                command=self.command(kind, hand_in),
            )
        )

    def took(self, hand_in: HandIn) -> None:
        self.passed.setdefault(hand_in.label, set()).add(hand_in.task_id)


def _judge_task(
    task: Task,
    staged: Iterable[HandIn],
    attempts: Mapping[tuple[str, str], Sequence[Attempt]],
    book: _Book,
) -> None:
    task_id = task.task_id

    def found(name: str) -> Sequence[Attempt]:
        return attempts.get((task_id, name), ())

    solution = HandIn(name="solution", task_id=task_id, role="solution", label="its solution")
    unscored = _solution(task, solution, found("solution"), book)
    empty = HandIn(name="empty", task_id=task_id, role="empty", label=_EMPTY_LABEL)
    _must_not(empty, found("empty"), book, unscored=unscored)
    for name in task.wrong:
        wrong = HandIn(name=f"wrong-{name}", task_id=task_id, role="wrong", label="its own wrong solution")
        tries = found(wrong.name)
        _must_not(wrong, tries, book, unscored=unscored)
        _expected(task, name, wrong, tries, book)
    for hand_in in staged:
        tries = found(hand_in.name)
        if hand_in.role == "mutant":
            book.mutants += any(not _machinery(one) for one in tries)
            if any(one.result.status == "PASS" for one in tries):
                book.add("warning", "mutant-passes", hand_in, f"a mutated solution is PASS: {hand_in.detail}")
        else:
            _must_not(hand_in, tries, book, unscored=unscored)
    for one in suspicions(task):
        book.findings.append(
            AuditFinding(level="warning", kind=one.kind, task_id=task_id, text=f"{one.place}: {one.text}")
        )


def _solution(task: Task, hand_in: HandIn, tries: Sequence[Attempt], book: _Book) -> bool:
    """Judges the solution; true when the machinery kept it from being scored, so that nothing is known."""
    if task.solution is None:
        text = "it has no solution/, so nothing shows that anybody can pass"
        finding = AuditFinding(level="warning", kind="no-solution", task_id=task.task_id, text=text)
        book.findings.append(finding)
        return False
    unscored = [one for one in tries if _machinery(one)]
    if unscored:
        book.add("error", "not-scored", hand_in, f"its solution was not scored: {_why(unscored[0])}")
        return True
    refused = [one for one in tries if one.result.status != "PASS"]
    if refused and len(refused) == len(tries):
        book.add("defect", "solution-fails", hand_in, f"its own solution is not PASS but {_why(refused[0])}")
    else:
        _agree(hand_in, tries, book)
    return False


def _by_the_clock(moved: Attempt, tries: Sequence[Attempt], book: _Book) -> None:
    sound = [one for one in tries if not _machinery(one)]
    if not sound:
        return
    was, now = sound[0].result, moved.result
    solution = HandIn(name="solution", task_id=now.task_id, role="solution", label="its solution")
    if _machinery(moved):
        text = f"with the clock {SHIFT_WORDS} ahead its solution was not scored: {_why(moved)}"
        book.add("error", "not-scored", solution, text)
        return
    before = {(one.result.status, one.result.score) for one in sound}
    if len(before) > 1 or (now.status, now.score) in before:
        return  # what differs all the time was told
    text = (
        f"with the clock {SHIFT_WORDS} ahead its solution is {_why(moved)}, score {now.score}; "
        f"now it is {_why(sound[0])}, score {was.score}"
    )
    book.add("defect", CLOCK, solution, text)


def _must_not(hand_in: HandIn, tries: Sequence[Attempt], book: _Book, *, unscored: bool) -> None:
    if any(one.result.status == "PASS" for one in tries):
        book.took(hand_in)
        book.add("defect", f"{hand_in.role}-passes", hand_in, f"PASS for {_named(hand_in)}")
    elif unscored:
        return
    else:
        _left_the_mean(hand_in, tries, book)
    _agree(hand_in, tries, book)


def _named(hand_in: HandIn) -> str:
    return f"{hand_in.label} ({hand_in.name})" if hand_in.role in ("wrong", "attack") else hand_in.label


def _left_the_mean(hand_in: HandIn, tries: Sequence[Attempt], book: _Book) -> None:
    """An ERROR that no mean counts: the machinery's own, or one that the submission brought about."""
    for one in tries:
        if not book.job.scored(one).left_out:
            continue
        error = one.result.error
        brought = (
            hand_in.role == "attack"
            and error is not None
            and error.phase is Phase.EVALUATE
            and error.blame not in (Blame.ENGINE, Blame.ADAPTER)
        )
        if brought:
            text = f"{_named(hand_in)} turns its FAIL into an ERROR that no mean counts: {_why(one)}"
            book.add("defect", "attack-leaves-mean", hand_in, text)
        else:
            book.add("error", "not-scored", hand_in, f"{_named(hand_in)} was not scored: {_why(one)}")
        return
    if hand_in.role == "empty" and tries and tries[0].result.status == "ERROR":
        text = f"nothing handed in ends in {_why(tries[0])}: let the evaluator say FAIL"
        book.add("warning", "empty-errs", hand_in, text)


def _expected(task: Task, name: str, hand_in: HandIn, tries: Sequence[Attempt], book: _Book) -> None:
    """expect.yaml against what came; what PASSes was told already."""
    expected = task.expected.get(name)
    bad = [one for one in tries if one.result.status != "PASS" and not _machinery(one)]
    if expected is None or not bad:
        return
    result = bad[0].result
    faults = []
    if expected.status is not None and result.status != expected.status:
        faults.append(f"{_why(bad[0])}, expected {expected.status}")
    if expected.check is not None and expected.check not in (failed := _failed_checks(bad[0])):
        faults.append(f"the check {expected.check} did not fail (failed: {', '.join(failed) or 'none'})")
    if expected.max_score is not None and result.score is not None and result.score > expected.max_score:
        faults.append(f"score {result.score:g}, expected at most {expected.max_score:g}")
    if faults:
        book.add("defect", "wrong-unexpected", hand_in, f"not as its expect.yaml says: {'; '.join(faults)}")


def _agree(hand_in: HandIn, tries: Sequence[Attempt], book: _Book) -> None:
    sound = [one for one in tries if not _machinery(one)]
    if len(sound) < 2:  # noqa: PLR2004 - one alone agrees with itself
        return
    first = sound[0].result
    for one in sound[1:]:
        other = one.result
        parts = []
        if first.status != other.status:
            parts.append(f"{_why(sound[0])} and {_why(one)}")
        elif first.score != other.score:
            parts.append(f"scores {first.score} and {other.score}")
        keys = sorted({*first.metrics, *other.metrics})
        moved = [key for key in keys if first.metrics.get(key) != other.metrics.get(key)]
        if moved:
            parts.append(f"metrics {', '.join(moved[:_METRICS_SHOWN])} differ")
        if parts:
            text = f"repeats of {_named(hand_in)} do not agree: {'; '.join(parts)}"
            book.add("defect", REPEATS, hand_in, text)
            return


def _machinery(one: Attempt) -> bool:
    """Whether an ERROR says nothing of task and submission: engine, environment, adapter, scorehost."""
    error = one.result.error
    return error is not None and error.blame not in (Blame.DATASET, Blame.SUBMISSION)


def _why(one: Attempt) -> str:
    error = one.result.error
    if error is not None:
        return f"ERROR {error.kind} ({error.message})"
    failed = _failed_checks(one)
    return one.result.status + (f" ({failed[0]})" if failed and one.result.status == "FAIL" else "")


def _failed_checks(one: Attempt) -> list[str]:
    try:
        return [row.id for row in one.checks() if row.status == "FAIL"]
    except BadFile:
        return []
