"""What is refused before a job starts: options that make no sense, and a resumed job whose input changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from scorehost.errors import UsageError
from scorehost.model.options import options_of, typed
from scorehost.runs.reader import ATTEMPTS, BadFile, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.jobs.kind import A, Kind
    from scorehost.jobs.plan import Plan
    from scorehost.jobs.running import Running
    from scorehost.runs.folder import JobFolder
    from scorehost.runs.journal import History
    from scorehost.runs.record import JobRecord, Subject

NAMED = 5
_KEEPS = "a job keeps what it was asked."
_HINT = "Leave it out, or start a new job."


def check_running(running: Running) -> None:
    """Raises UsageError for numbers that make no sense."""
    at_least("--concurrency", running.concurrency, 1)
    at_least("--retry-errors", running.retry_errors, 0)
    if running.fail_under is not None and not math.isfinite(running.fail_under):
        raise UsageError(f"--fail-under {running.fail_under}: must be a finite number.")
    if running.rerun is not None and running.resume is None:
        raise UsageError("--rerun needs a job.", hint="Add --resume JOB, such as --resume latest.")


def at_least(name: str, value: int | None, least: int) -> None:
    """Raises UsageError when the value of an option is lower."""
    if value is not None and value < least:
        raise UsageError(f"{name} {value}: must be {least} or more.")


def asked_before(kind: Kind[A, Any], record: JobRecord, given: A | None) -> A:
    """What the job of `record` was asked. Where `given` names a place, its dataset lies there now.

    UsageError when `given` asks for other attempts.
    """
    was = kind.read(record)
    if given is None:
        return was
    if wrong := typed(given):
        raise UsageError(f"{', '.join(wrong)} cannot go with --resume: {_KEEPS}", hint=_HINT)
    for name, one, default in options_of(given):
        place = getattr(given, name)
        if not one.flag and place != default:
            return kind.moved(was, place)
    return was


def check_unchanged(kind: Kind[Any, Any], record: JobRecord, plan: Plan[Any], now: Subject) -> None:
    """Raises UsageError that names what is not as it was when the job began; `now` is `plan.subject_like`."""
    changed = [*_changes(kind, record, now)]
    if not changed and plan.digest != record.plan.digest:
        changed.append("which attempts there are")
    if not changed and record.plan.fingerprint not in (None, plan.fingerprint):
        changed.append("what its attempts rest on")
    if changed:
        more = f"\n  and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        listed = "".join(f"\n  {line}" for line in changed[:NAMED])
        raise UsageError(
            f"The job {record.job_id} cannot go on, since its input changed:{listed}{more}",
            hint="Put it back as it was, or start a new job: scores of different inputs are not one measure.",
        )


def check_runner(plan: Plan[Any], folder: JobFolder, history: History) -> None:
    """Raises UsageError when attempts that a job still needs would be scored by another runner. Blocks.

    Their job would be invalid at its end, for scores of two runners are not one measure.
    """
    own = [name for name in history.results if name not in history.carried]
    if not plan.runner or not own or len(history.results) >= len(plan.orders):
        return
    with Reader(folder.path) as reader:
        was = next((digest for name in own if (digest := _runner_of(reader, name))), plan.runner)
    if was != plan.runner:
        begun = folder.read_record().scorehost
        raise UsageError(
            f"The job {folder.job_id} cannot go on: its {len(own)} finished attempts were scored by the "
            f"runner of another scorehost ({begun}), and scores of two runners are not one measure.",
            hint="Finish it with that version, or start a new job. What is finished stays readable, and "
            f"`scorehost rescore {folder.job_id}` scores it again.",
        )


def _runner_of(reader: Reader, name: str) -> str:
    try:
        digests = reader.result(f"{ATTEMPTS}/{name}")[0].digests.scoring
    except BadFile:
        return ""
    return "" if digests is None else digests.sdk or ""


def _changes(kind: Kind[Any, Any], was: Subject, now: Subject) -> Iterator[str]:
    if was.dataset.dataset_id != now.dataset.dataset_id:
        yield f"the dataset is {now.dataset.dataset_id}, not {was.dataset.dataset_id}"
    unknown = kind.incomparable(was, now)
    yield from unknown.values()
    yield from _names("task", was.tasks, now.tasks)
    for task_id in sorted(was.tasks.keys() & now.tasks.keys()):
        before, after = was.tasks[task_id].digests, now.tasks[task_id].digests
        parts = [part for part in after if part not in unknown and before.get(part, "") != after[part]]
        if parts:
            yield f"{task_id}: {', '.join(kind.part_words(was, now, task_id, part) for part in parts)}"
    ours = {one.name: one for one in was.submissions}
    theirs = {one.name: one for one in now.submissions}
    yield from _names("submission", ours, theirs)
    for name in sorted(ours.keys() & theirs.keys()):
        where = f": {theirs[name].path}" if theirs[name].path else ""
        if was.samples.get(name) != now.samples.get(name):
            yield f"the submission {name} has other samples{where}"
        # Folders had no digest in the jobs of the last release.
        elif ours[name].digest is not None and ours[name].digest != theirs[name].digest:
            yield f"the submission {name}{where}"


def _names(what: str, was: Mapping[str, object], now: Mapping[str, object]) -> Iterator[str]:
    yield from (f"the {what} {name} is gone" for name in sorted(was.keys() - now.keys()))
    yield from (f"the {what} {name} is new" for name in sorted(now.keys() - was.keys()))
