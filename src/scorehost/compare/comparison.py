"""Two finished jobs to one comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.compare.checks import MovedChecks, moved_checks
from scorehost.compare.differences import MustAgree, differences, unknown_inputs
from scorehost.compare.figures import PairedScores
from scorehost.compare.metrics import compared_metrics
from scorehost.compare.pairs import Matched, Pair, match
from scorehost.compare.scoring_inputs import of_other_formats
from scorehost.errors import UsageError
from scorehost.model.comparison import Change, Comparison, Figures, Regressions, Side
from scorehost.model.direction import best_end, better
from scorehost.model.spelling import some
from scorehost.runs.reason import reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.runs.reading import ReadJob

FELL = 1e-9  # what a mean may fall by rounding alone


def compare_jobs(
    a: ReadJob,
    b: ReadJob,
    *,
    must_agree: MustAgree,
    renamed: Mapping[str, str] | None = None,
    tasks: Sequence[str] = (),
    allow_mismatch: bool = False,
    private: bool = False,
) -> Comparison:
    """What B is against A over the attempts that both have (see `pairs.match` for `renamed` and `tasks`).

    `must_agree` is what the kind of both says of them. `figures` is None when what verdicts rest on differs,
    unless `allow_mismatch`. Raises UsageError when nothing matches, and for jobs of two kinds.
    """
    if a.record.kind != b.record.kind:
        raise UsageError(
            f"{a.folder.job_id} is a {a.record.kind} job, {b.folder.job_id} a {b.record.kind} job.",
            hint="Compare jobs of one kind.",
        )
    matched = match(a, b, renamed=renamed, tasks=tasks)
    found = differences(a, b, matched.pairs, must_agree)
    comparable = not any(one.kind in ("scoring", "unknown") for one in found)
    scores = PairedScores(a, b, matched.pairs)
    by_task = scores.tasks()
    figures = scores.figures(by_task)
    told = comparable or allow_mismatch
    checks = moved_checks(a, b, matched.pairs)
    return Comparison(
        a=_side(a),
        b=_side(b),
        comparable=comparable,
        mismatch_allowed=allow_mismatch and not comparable,
        differences=found,
        notes=tuple(_notes(a, b, matched, figures if told else None, checks)),
        n_pairs=len(matched.pairs),
        only_in_a=tuple(map(str, matched.only_a)),
        only_in_b=tuple(map(str, matched.only_b)),
        figures=figures if told else None,
        regressions=_regressions(a, b, matched, figures if told else None),
        tasks=by_task,
        changes=tuple(_change(pair, private=private) for pair in matched.pairs if _moved(pair)),
        checks=checks.changes,
        checks_left_out=checks.left_out,
        metrics=compared_metrics(a, b, matched.pairs) if told else (),
    )


def _side(job: ReadJob) -> Side:
    record = job.record
    return Side(
        job_id=record.job_id,
        name=record.asked.name,
        dataset_id=record.dataset.dataset_id,
        dataset_version=record.dataset.version,
        status=job.status,
        attempts=len(job.attempts),
    )


def _notes(
    a: ReadJob, b: ReadJob, matched: Matched, figures: Figures | None, checks: MovedChecks
) -> list[str]:
    notes = []
    for side, job in (("A", a), ("B", b)):
        if job.status not in ("complete", "invalidated"):
            planned = job.record.plan.planned
            notes.append(f"{side} is {job.status}: {len(job.attempts)} of {planned} attempts")
        if job.damaged:
            shown = some(job.damaged, between="; ")
            damaged = (
                "1 damaged attempt, which is"
                if len(job.damaged) == 1
                else f"{len(job.damaged)} damaged attempts, which are"
            )
            notes.append(f"{side} has {damaged} left out: {shown}")
        notes += [f"{side}: {text}" for text in job.faults]
    if checks.unread:
        where = f"{_pairs(len(checks.unread))}: {some(checks.unread)}"
        notes.append(f"checks of A or of B cannot be read, so they are not compared, in {where}")
    if unknown := unknown_inputs(matched.pairs):
        shown = some(unknown)
        notes.append(f"what scored them is unknown in one of the jobs for {_tasks(len(unknown))}: {shown}")
    if old := of_other_formats(matched.pairs):
        notes.append(
            f"whether gold, task.yaml and limits are the same is unknown for {_tasks(len(old))}, since one of"
            f" the jobs has results of the first format: {some(old)}"
        )
    if figures is not None and figures.mcnemar.n > figures.n_tasks:
        notes.append(
            "McNemar's test takes samples as independent, and some tasks have several: trust the interval"
        )
    return notes


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"


def _moved(pair: Pair) -> bool:
    a, b = pair.a.result, pair.b.result
    return (a.status, a.score) != (b.status, b.score)


def _change(pair: Pair, *, private: bool) -> Change:
    a, b = pair.a.result, pair.b.result
    return Change(
        task_id=pair.key.task_id,
        submission=pair.key.submission,
        submission_b=pair.b.key.submission,
        sample=pair.key.sample,
        repeat=pair.key.repeat,
        status_a=a.status,
        status_b=b.status,
        score_a=a.score,
        score_b=b.score,
        reason=reason(pair.scored_b, pair.b.checks, private=private),
    )


def _regressions(a: ReadJob, b: ReadJob, matched: Matched, figures: Figures | None) -> Regressions:
    lost = [
        f"{pair.key}: PASS, then {pair.b.result.status}"
        for pair in matched.pairs
        if pair.a.result.status == "PASS" and pair.b.result.status != "PASS"
    ]
    if b.status != "complete":
        passed = {one.key for one in a.attempts if one.result.status == "PASS"}
        lost += [f"{key}: PASS, not finished in B" for key in matched.only_a if key in passed]
    fell = None
    if figures is not None and figures.difference is not None and figures.direction != "mixed":
        slack = best_end(figures.direction, (-FELL, FELL))
        fell = better(0.0, figures.difference + slack, figures.direction)
    return Regressions(lost=tuple(lost), mean_fell=fell)
