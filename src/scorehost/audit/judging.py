"""What the verdicts of an audit's job say of each task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.audit.clock import SHIFT_WORDS
from scorehost.audit.commands import CLOCK, REPEATS
from scorehost.audit.standards import Standard, contradicts, machinery, raised, standard
from scorehost.audit.static import suspicions
from scorehost.model.audit import AuditFinding, Level, MadeUp, Passed
from scorehost.model.failure import Blame, Phase
from scorehost.model.result import GOOD
from scorehost.runs.reader import BadFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scorehost.model.audit import Kit
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.spec.dataset import Task

Command = Callable[[str, MadeUp], str]
_LEVELS: tuple[Level, ...] = ("defect", "error", "warning")
_EMPTY_LABEL = "nothing at all"
_METRICS_SHOWN = 3
EMPTY_FILE = "empty-file"


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
    staged: dict[str, list[MadeUp]] = defaultdict(list)
    for made_up in kit.hand_ins:
        staged[made_up.task_id].append(made_up)
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

    def add(self, level: Level, kind: str, made_up: MadeUp, text: str) -> None:
        self.findings.append(
            AuditFinding(
                level=level,
                kind=kind,
                task_id=made_up.task_id,
                submission=made_up.name,
                text=text,
                command=self.command(kind, made_up),
            )
        )

    def took(self, made_up: MadeUp) -> None:
        self.passed.setdefault(made_up.label, set()).add(made_up.task_id)


def _judge_task(
    task: Task,
    staged: Iterable[MadeUp],
    attempts: Mapping[tuple[str, str], Sequence[Attempt]],
    book: _Book,
) -> None:
    task_id = task.task_id

    def found(name: str) -> Sequence[Attempt]:
        return attempts.get((task_id, name), ())

    solution = MadeUp(name="solution", task_id=task_id, role="solution", label="its solution")
    held = standard(task, found("solution"))
    unscored = _solution(task, solution, found("solution"), book)
    empty = MadeUp(name="empty", task_id=task_id, role="empty", label=_EMPTY_LABEL)
    _must_not(empty, found("empty"), book, held, unscored=unscored)
    handed_in = [(solution, found("solution")), (empty, found("empty"))]
    for name in task.wrong:
        wrong = MadeUp(name=f"wrong-{name}", task_id=task_id, role="wrong", label="its own wrong solution")
        tries = found(wrong.name)
        _must_not(wrong, tries, book, held, unscored=unscored)
        _expected(task, name, wrong, tries, book, held)
        handed_in.append((wrong, tries))
    for made_up in staged:
        tries = found(made_up.name)
        handed_in.append((made_up, tries))
        if made_up.role == "mutant":
            _mutant(made_up, tries, book, held)
        else:
            _must_not(made_up, tries, book, held, unscored=unscored)
    _contradictions(task, handed_in, book)
    if held.score is not None:
        _raises(task, handed_in, book)
    for one in suspicions(task):
        book.findings.append(
            AuditFinding(level="warning", kind=one.kind, task_id=task_id, text=f"{one.place}: {one.text}")
        )


def _mutant(made_up: MadeUp, tries: Sequence[Attempt], book: _Book, held: Standard) -> None:
    """One that scores worse than the solution was noticed, also where it still passes."""
    scored = [one for one in tries if not machinery(one)]
    book.mutants += bool(scored)
    for one in scored:
        if held.surpassed(one.result):
            words = held.words(one.result)
            text = f"a mutated solution is better than the solution ({words}): {made_up.detail}"
            book.add("warning", "mutant-is-better", made_up, text)
            return
        if held.passed(one) and not held.fell(one.result):
            text = f"a mutated solution {held.how(one)}: {made_up.detail}"
            book.add("warning", "mutant-passes", made_up, text)
            return


def _contradictions(task: Task, handed_in: Iterable[tuple[MadeUp, Sequence[Attempt]]], book: _Book) -> None:
    """Verdicts that contradict their own score or checks: each sort once, with the first that shows it."""
    told = dict[str, list[MadeUp]]()
    for made_up, tries in handed_in:
        for text in {contradicts(task, one) for one in tries} - {""}:
            told.setdefault(text, []).append(made_up)
    for text, who in told.items():
        more = f", and {len(who) - 1} more" if len(who) > 1 else ""
        book.add("defect", "contradicts-itself", who[0], f"{text}, for {_named(who[0])}{more}")


def _raises(task: Task, handed_in: Iterable[tuple[MadeUp, Sequence[Attempt]]], book: _Book) -> None:
    """An evaluator that raises for what is merely wrong, in place of saying FAIL. What is dishonest may break
    it and counts as the lowest; nothing at all, and what expect.yaml speaks of, have findings of their own.
    """
    merely = [
        (made_up, one)
        for made_up, tries in handed_in
        if made_up.role == "mutant"
        or made_up.name == EMPTY_FILE
        or (made_up.role == "wrong" and not _stated(task, made_up))
        for one in tries[:1]
    ]
    broken = [(made_up, one) for made_up, one in merely if raised(one)]
    if broken:
        made_up, one = broken[0]
        text = (
            f"the evaluator raises for {len(broken)} of {len(merely)} hand-ins that are merely wrong, "
            f"in place of FAIL: {_why(one)} for {_named(made_up)}"
        )
        book.add("defect", "evaluator-raises", made_up, text)


def _stated(task: Task, wrong: MadeUp) -> bool:
    expected = task.expected.get(wrong.name.removeprefix("wrong-"))
    return expected is not None and expected.status is not None


def _solution(task: Task, made_up: MadeUp, tries: Sequence[Attempt], book: _Book) -> bool:
    """Judges the solution; true when the machinery kept it from being scored, so that nothing is known."""
    if task.solution is None:
        text = "it has no solution/, so nothing shows that anybody can pass"
        finding = AuditFinding(level="warning", kind="no-solution", task_id=task.task_id, text=text)
        book.findings.append(finding)
        return False
    unscored = [one for one in tries if machinery(one)]
    if unscored:
        book.add("error", "not-scored", made_up, f"its solution was not scored: {_why(unscored[0])}")
        return True
    refused = [one for one in tries if one.result.status not in GOOD]
    if refused and len(refused) == len(tries):
        wanted = "PASS" if task.spec.evaluation.output.verdict != "none" else "SCORED"
        text = f"its own solution is not {wanted} but {_why(refused[0])}"
        book.add("defect", "solution-fails", made_up, text)
    else:
        _agree(made_up, tries, book)
    return False


def _by_the_clock(moved: Attempt, tries: Sequence[Attempt], book: _Book) -> None:
    sound = [one for one in tries if not machinery(one)]
    if not sound:
        return
    was, now = sound[0].result, moved.result
    solution = MadeUp(name="solution", task_id=now.task_id, role="solution", label="its solution")
    if machinery(moved):
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


def _must_not(
    made_up: MadeUp, tries: Sequence[Attempt], book: _Book, held: Standard, *, unscored: bool
) -> None:
    paid = [one.result for one in tries if held.as_good(one.result)]
    if took := [one for one in tries if held.passed(one)]:
        book.took(made_up)
        text = f"{_named(made_up)} {held.how(took[0])}" if held.alone else f"PASS for {_named(made_up)}"
        book.add("defect", f"{made_up.role}-passes", made_up, text)
    elif paid:
        more = "better than" if held.surpassed(paid[0]) else "as good as"
        text = f"{_named(made_up)} is {more} its solution: {held.words(paid[0])}"
        book.add("defect", "full-score", made_up, text)
    elif unscored:
        return
    else:
        _left_the_mean(made_up, tries, book)
    _agree(made_up, tries, book)


def _named(made_up: MadeUp) -> str:
    told = made_up.role in ("wrong", "attack", "mutant")
    return f"{made_up.label} ({made_up.name})" if told else made_up.label


def _left_the_mean(made_up: MadeUp, tries: Sequence[Attempt], book: _Book) -> None:
    """An ERROR that no mean counts: the machinery's own, or one that the submission brought about."""
    for one in tries:
        if not book.job.scored(one).left_out:
            continue
        error = one.result.error
        brought = (
            made_up.role == "attack"
            and error is not None
            and error.phase is Phase.EVALUATE
            and error.blame not in (Blame.ENGINE, Blame.ADAPTER)
        )
        if brought:
            text = f"{_named(made_up)} turns its FAIL into an ERROR that no mean counts: {_why(one)}"
            book.add("defect", "attack-leaves-mean", made_up, text)
        else:
            book.add("error", "not-scored", made_up, f"{_named(made_up)} was not scored: {_why(one)}")
        return
    if made_up.role == "empty" and tries and tries[0].result.status == "ERROR":
        text = f"nothing handed in ends in {_why(tries[0])}: let the evaluator say FAIL"
        book.add("warning", "empty-errs", made_up, text)


def _expected(  # noqa: PLR0917 - one line of a table
    task: Task, name: str, made_up: MadeUp, tries: Sequence[Attempt], book: _Book, held: Standard
) -> None:
    """expect.yaml against what came; what PASSes was told already."""
    expected = task.expected.get(name)
    bad = [one for one in tries if not held.passed(one) and not machinery(one)]
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
    if expected.min_score is not None and result.score is not None and result.score < expected.min_score:
        faults.append(f"score {result.score:g}, expected at least {expected.min_score:g}")
    if faults:
        book.add("defect", "wrong-unexpected", made_up, f"not as its expect.yaml says: {'; '.join(faults)}")


def _agree(made_up: MadeUp, tries: Sequence[Attempt], book: _Book) -> None:
    sound = [one for one in tries if not machinery(one)]
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
            text = f"repeats of {_named(made_up)} do not agree: {'; '.join(parts)}"
            book.add("defect", REPEATS, made_up, text)
            return


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
