"""Submissions found: every way of handing in, brought to one form: for each task, numbered samples."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near
from scorehost.runs.record import SubmissionRecord
from scorehost.submissions.children import from_children, stem
from scorehost.submissions.digests import file_digest
from scorehost.submissions.handed import from_path, stored_path
from scorehost.submissions.naming import EMPTY, MAX_NAME, RUN, SOLUTION, WRONG, label_of, named, usable
from scorehost.submissions.predictions import read_predictions
from scorehost.submissions.sample import Sample
from scorehost.submissions.submission import Search, Submission
from scorehost.submissions.wanted import CARD

if TYPE_CHECKING:
    from scorehost.submissions.submission import Warn


def find_submissions(search: Search) -> tuple[Submission, ...]:
    """Every submission that is named, in that order.

    Raises UsageError or SpecError for what a person mistyped: unknown words, bad or repeated names, missing
    folders, bad rows. A hostile archive is no such error: its attempts will be ERROR invalid_submission.
    """
    found = [_from_word(word, search) for word in search.words if word != RUN]
    if search.children is not None:
        found += from_children(search.children, search)
    if search.predictions is not None:
        found.append(_from_predictions(search.predictions, search))
    if search.staged is not None:
        found += _staged(search.staged, search)
    if RUN in search.words or not found:
        run = _from_run_phase(search, search.run_samples, asked=RUN in search.words, alone=not found)
        found += [run] if run is not None else []
    if not found:
        raise UsageError(
            "There is nothing to score: no submission was named.",
            hint="Name one, such as --submission solution, --submission FOLDER or --predictions FILE.jsonl. "
            "(Without one, the run phase of tasks that have a run.py makes the artifacts.)",
        )
    found = _renamed(found, search.warn)
    seen: dict[str, Submission] = {}
    for submission in found:
        other = seen.setdefault(submission.name.lower(), submission)
        if other is not submission:
            raise UsageError(
                f"Two submissions are named {submission.name} (case does not tell them apart).",
                hint="Choose another NAME for one of them."
                if submission.named and other.named
                else "Give one of them another name with NAME=PATH.",
            )
    return tuple(found)


def _renamed(found: Sequence[Submission], warn: Warn) -> list[Submission]:
    """The submissions under the names of their cards, where such a name is free and was not overruled."""

    def wish(one: Submission) -> str | None:
        return None if one.named or one.record.card is None else one.record.card.name

    taken = Counter(one.name.lower() for one in found)
    taken.update(name.lower() for name in map(wish, found) if name)
    renamed = []
    for one in found:
        name = wish(one)
        if name is None or name == one.name:
            renamed.append(one)
            continue
        # A submission must not pass for another one, nor for the dataset's own solution.
        if taken[name.lower()] > 1 + (name.lower() == one.name.lower()) or not usable(name):
            warn(
                f"{one.name} calls itself {name} in {CARD}, which is taken or reserved; its own name stands."
            )
            renamed.append(one)
        else:
            renamed.append(replace(one, record=one.record.model_copy(update={"name": name})))
    return renamed


def lasting_word(submission: Submission) -> str | None:
    """The word of `--submission` that finds this one again from any folder; None for predictions."""
    record = submission.record
    if record.kind in ("predictions", "staged"):
        return None
    if record.kind in ("solution", "empty", "wrong", "run"):
        return record.path or record.name
    return f"{record.name}={record.path}"


def _from_word(word: str, search: Search) -> Submission:
    if word == SOLUTION:
        return _from_tasks(
            SubmissionRecord(name=SOLUTION, kind="solution"),
            {task.task_id: task.solution for task in search.tasks},
            missing=UsageError("No selected task has a solution/.", hint="Add one, or hand in a folder."),
        )
    if word == EMPTY:
        return Submission(
            SubmissionRecord(name=EMPTY, kind="empty"), {task.task_id: {1: Sample()} for task in search.tasks}
        )
    if word.startswith(WRONG):
        wrong = word.removeprefix(WRONG)
        known = {name for task in search.tasks for name in task.wrong}
        name = named(f"wrong-{wrong}", word)[0]
        return _from_tasks(
            SubmissionRecord(name=name, kind="wrong", path=word),
            {task.task_id: task.wrong.get(wrong) for task in search.tasks},
            missing=UsageError(f"No selected task has solution-wrong/{wrong}.", hint=near(wrong, known)),
        )
    given, equals, rest = word.partition("=")
    if equals and not Path(word).exists():
        if not rest:  # an empty path is the working folder, which nobody meant
            raise UsageError(f"--submission {word}: no path stands after the `=`.", hint="Write NAME=PATH.")
        name, label = named(given, word, by_person=True)
        _say_label(name, label, search.warn)
        return replace(from_path(name, Path(rest), search, label=label), named=True)
    path = Path(word)
    base = path.name if path.name not in ("", "..") else path.resolve().name
    name, label = named(stem(base), word)
    _say_label(name, label, search.warn)
    return from_path(name, path, search, label=label)


def _say_label(name: str, label: str | None, warn: Warn) -> None:
    if label is not None:
        warn(f"The submission {label!r} is called {name} in paths: its own name cannot stand in one.")


def _from_run_phase(search: Search, samples: int, *, asked: bool, alone: bool) -> Submission | None:
    """What the run phases make, for the tasks that have one; None when no selected task does.

    Without any submission the other tasks are left out, with a warning.
    """
    able = [task.task_id for task in search.tasks if task.run_script is not None]
    if not able:
        if asked and alone:
            raise UsageError("No selected task has a run.py.", hint="Write one, or hand in a submission.")
        if asked:
            search.warn("No selected task has a run.py, so nothing is made by a run phase.")
        return None
    if alone and len(able) < len(search.tasks):
        rest = [task.task_id for task in search.tasks if task.run_script is None]
        search.warn(
            f"{len(rest)} of {len(search.tasks)} tasks have no run.py and are left out, such as {rest[0]}: "
            "no submission was named."
        )
    sources = {number: Sample(run=True) for number in range(1, samples + 1)}
    return Submission(SubmissionRecord(name=RUN, kind="run"), dict.fromkeys(able, sources))


def _from_tasks(
    record: SubmissionRecord, folders: Mapping[str, Path | None], *, missing: UsageError
) -> Submission:
    samples = {
        task_id: {1: Sample(folder=folder)} for task_id, folder in folders.items() if folder is not None
    }
    if not samples:
        raise missing
    return Submission(record, samples)


def _staged(place: Path, search: Search) -> Iterator[Submission]:
    """What an audit made: for each name the tasks that have a folder in it."""
    if not place.is_dir():
        raise UsageError(
            f"What the audit handed in is not in {place} any more.",
            hint="`scorehost audit --resume JOB` tells what it found; "
            "`scorehost rescore JOB` scores it again.",
        )
    for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
        if not entry.is_dir(follow_symlinks=False):
            continue
        folders = {task.task_id: Path(entry.path, task.task_id) for task in search.tasks}
        samples = {
            task_id: {1: Sample(folder=folder)} for task_id, folder in folders.items() if folder.is_dir()
        }
        if samples:
            record = SubmissionRecord(name=entry.name, kind="staged", path=entry.path)
            yield Submission(record, samples, named=True, once=True)


def _from_predictions(path: Path, search: Search) -> Submission:
    given = re.sub(r"(\.jsonl|\.json)?(\.gz)?$", "", path.name)
    cleaned = re.sub(r"[^A-Za-z0-9._-]", "-", given)[:MAX_NAME]
    name = named(cleaned, str(path))[0]
    read = read_predictions(path, search.dataset)
    rows = read.samples
    for text in read.warnings:
        search.warn(f"{name}: {text}")
    without = [task.task_id for task in search.tasks if task.task_id not in rows]
    if without:
        search.warn(
            f"{name} has no row for {len(without)} of {len(search.tasks)} tasks, such as {without[0]}: "
            "they are scored as handed in empty."
        )
    selected = [source for task in search.tasks for source in rows.get(task.task_id, ())]
    if bare := sum(not source.texts for source in selected):
        search.warn(f"{name}: {bare} of {len(selected)} rows hold no artifact and are scored as empty.")
    samples = {
        task.task_id: dict(enumerate(rows.get(task.task_id, (Sample(),)), start=1)) for task in search.tasks
    }
    record = SubmissionRecord(
        name=name,
        kind="predictions",
        path=stored_path(path.absolute()),
        # What was put together with a task's prompt is bound by what it holds, not by the file alone.
        digest=None if read.completed else file_digest(path),
        label=None if name == given else label_of(given),
    )
    return Submission(record, samples)
