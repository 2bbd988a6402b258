"""Submissions found: every way of handing in, brought to one form: for each task, numbered samples."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.ids import SUBMISSION_NAME
from scorehost.model.spelling import near
from scorehost.runs.record import SubmissionRecord
from scorehost.submissions.archives import BadArchive, archive_suffix, unpack
from scorehost.submissions.cards import CARD, read_card
from scorehost.submissions.digests import file_digest
from scorehost.submissions.layout import litter, samples_of
from scorehost.submissions.predictions import read_predictions
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    from scorehost.spec.dataset import Dataset, Task

SOLUTION = "solution"
EMPTY = "empty"
RUN = "run"  # no submission: the run phase of the tasks that have one makes the artifacts
WRONG = "wrong:"
RESERVED = (SOLUTION, EMPTY, RUN)
MAX_NAME = 64

Samples = Mapping[int, Sample]
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission: for each task that it is scored on, its samples by number (from 1)."""

    record: SubmissionRecord
    samples: Mapping[str, Samples]
    named: bool = False  # by NAME=PATH, which overrules the card
    once: bool = False  # whatever the number of repeats

    @property
    def name(self) -> str:
        """The name that attempts carry."""
        return self.record.name


@dataclass(frozen=True, slots=True)
class Search:
    """What submissions are looked up in: the dataset, the selected tasks, a folder of ours to unpack into.

    And what was named: words as --submission takes them, a folder of many, a file of rows, the samples that
    run phases are asked for, a folder of submissions that were made up.
    """

    dataset: Dataset
    tasks: Sequence[Task]
    staging: Path
    warn: Warn = field(default=lambda _text: None)
    words: tuple[str, ...] = ()
    children: Path | None = None
    predictions: Path | None = None
    run_samples: int = 1
    staged: Path | None = None


def find_submissions(search: Search) -> tuple[Submission, ...]:
    """Every submission that is named, in that order.

    Raises UsageError or SpecError for what a person mistyped: unknown words, bad or repeated names, missing
    folders, bad rows. A hostile archive is no such error: its attempts will be ERROR invalid_submission.
    """
    found = [_from_word(word, search) for word in search.words if word != RUN]
    if search.children is not None:
        found += [_from_path(name, path, search) for name, path in _children(search.children)]
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
    seen: set[str] = set()
    for submission in found:
        if submission.name.lower() in seen:
            raise UsageError(
                f"Two submissions are named {submission.name} (case does not tell them apart).",
                hint="Give one of them another name with NAME=PATH.",
            )
        seen.add(submission.name.lower())
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
        if taken[name.lower()] > 1 + (name.lower() == one.name.lower()) or not _usable(name):
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
        name = checked_name(f"wrong-{wrong}", word)
        return _from_tasks(
            SubmissionRecord(name=name, kind="wrong", path=word),
            {task.task_id: task.wrong.get(wrong) for task in search.tasks},
            missing=UsageError(f"No selected task has solution-wrong/{wrong}.", hint=near(wrong, known)),
        )
    name, equals, rest = word.partition("=")
    if equals and not Path(word).exists():
        return replace(_from_path(checked_name(name, word), Path(rest), search), named=True)
    path = Path(word)
    base = path.name if path.name not in ("", "..") else path.resolve().name
    return _from_path(checked_name(_stem(base), word), path, search)


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


def _stem(name: str) -> str:
    suffix = archive_suffix(name)
    return name[: -len(suffix)] if suffix else name


def _spelled(name: str) -> bool:
    # Names become folders, so dots alone would walk out of the job's.
    return SUBMISSION_NAME.fullmatch(name) is not None and name.strip(".") != ""


def _usable(name: str) -> bool:
    return _spelled(name) and name.lower() not in RESERVED and not name.lower().startswith("wrong-")


def checked_name(name: str, word: str) -> str:
    """`name` when it may name a submission; UsageError that quotes `word` otherwise."""
    if not _spelled(name):
        raise UsageError(
            f"{word!r} does not give a submission's name: {name!r} is not made of 1 to {MAX_NAME} letters, "
            "digits, '.', '_', '-', or only of dots.",
            hint="Use NAME=PATH.",
        )
    if name in RESERVED:
        raise UsageError(
            f"{word!r} would be named {name}, which is reserved.", hint="Use NAME=PATH with another name."
        )
    return name


def _children(folder: Path) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"--submissions {folder}: {error.strerror}.") from None
    count = 0
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False) or (
            archive_suffix(entry.name) and entry.is_file(follow_symlinks=False)
        ):
            count += 1
            yield checked_name(_stem(entry.name), entry.path), Path(entry.path)
        elif entry.is_symlink():
            raise UsageError(
                f"{entry.path} is a link, which is not followed.",
                hint="Name its target with --submission NAME=PATH.",
            )
    if not count:
        raise UsageError(f"--submissions {folder} holds no folder, .zip or .tar.gz.")


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


def _from_path(name: str, path: Path, search: Search) -> Submission:
    try:
        status = path.stat()
    except OSError as error:
        able = [RUN] if any(task.run_script is not None for task in search.tasks) else []
        wrong = [f"{WRONG}{name}" for task in search.tasks for name in task.wrong]
        raise UsageError(
            f"--submission {path}: {error.strerror}.",
            hint=f"It may be a folder, an archive, {SOLUTION}, {EMPTY} or {WRONG}NAME. "
            + near(str(path), [SOLUTION, EMPTY, *able, *wrong]),
        ) from None
    real = path.resolve()
    if stat.S_ISDIR(status.st_mode):
        card = read_card(real, search.warn)
        record = SubmissionRecord(name=name, kind="folder", path=str(real), card=card)
        return Submission(record, samples_of(real, search.tasks, search.dataset, name, search.warn))
    if stat.S_ISREG(status.st_mode) and archive_suffix(path.name):
        return _from_archive(name, real, search)
    raise UsageError(
        f"--submission {path} is neither a folder nor an archive (.zip, .tar.gz).",
        hint="Hand in a folder that holds <task_id>/<artifact path>, or, for one task, <artifact path>.",
    )


def _from_archive(name: str, path: Path, search: Search) -> Submission:
    target = search.staging / name
    record = SubmissionRecord(name=name, kind="archive", path=str(path), digest=file_digest(path))
    try:
        unpack(path, target)
    except BadArchive as bad:
        reason = f"The archive {path.name} is refused: {bad}."
        search.warn(f"{name}: {reason}")
        return Submission(record, {task.task_id: {1: Sample(refused=reason)} for task in search.tasks})
    root = _unwrapped(target, search.dataset)
    record = record.model_copy(update={"card": read_card(root, search.warn)})
    return Submission(record, samples_of(root, search.tasks, search.dataset, name, search.warn))


def _unwrapped(root: Path, dataset: Dataset) -> Path:
    """`root`, or the only folder in it when that is a mere wrapping (as `tar czf x.tar.gz x` makes it)."""
    entries = [entry for entry in os.scandir(root) if not litter(entry.name)]
    own = {CARD, "artifacts", "workspace", "samples"}
    if len(entries) == 1 and entries[0].is_dir() and entries[0].name not in own | set(dataset.tasks):
        return Path(entries[0].path)
    return root


def _from_predictions(path: Path, search: Search) -> Submission:
    stem = re.sub(r"(\.jsonl|\.json)?(\.gz)?$", "", path.name)
    cleaned = re.sub(r"[^A-Za-z0-9._-]", "-", stem)[:MAX_NAME]
    name = checked_name(cleaned, str(path))
    rows = read_predictions(path, search.dataset)
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
        name=name, kind="predictions", path=str(path.absolute()), digest=file_digest(path)
    )
    return Submission(record, samples)
