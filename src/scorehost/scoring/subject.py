"""What verdicts of a score job rest on, as job.json holds it: dataset, tasks, submissions."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING

from scorehost.files.names import escaped
from scorehost.model.canonical import jcs_digest
from scorehost.model.json import digest
from scorehost.runs.record import DatasetRecord, MetricRecord, Subject, TaskRecord
from scorehost.spec.digests import profile_digest, task_digest
from scorehost.spec.gold_key import GoldFile, gold_key
from scorehost.submissions.contents import sample_digest, submission_digest
from scorehost.submissions.digests import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from scorehost.runs.record import SubmissionRecord
    from scorehost.spec.dataset import Dataset, Task
    from scorehost.spec.gold_key import GoldKey
    from scorehost.submissions.submission import Submission

HASHED_BYTES = 8 * 1024 * 1024  # a larger file counts by its size here; result.json has its full digest
FILES = {"scorehost": "dataset.yaml", "ageval": "ageval.yaml"}
TASK_FILE = "task.yaml"
_WHOLE = frozenset({"archive", "predictions"})  # one file, with a digest of its own

Samples = dict[tuple[str, str, int], str]
"""task id, submission, sample -> digest of its content"""


def subject_of(
    dataset: Dataset,
    tasks: Iterable[Task],
    submissions: Sequence[Submission],
    contents: Samples,
    *,
    first: bool = False,
) -> Subject:
    """The records of dataset, tasks and submissions as they are now; `contents` are theirs. Blocks.

    `first`: with digests as `scorehost.job/1` took them, to hold such a record against; never written.
    OSError when a file of a task has gone, UsageError for a gold.key that cannot be used.
    """
    key = gold_key(dataset)
    known = {task.task_id: task for task in tasks}
    held: dict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    for (task_id, name, number), content in contents.items():
        held[name][task_id, number] = content
    records: list[SubmissionRecord] = []
    for one in submissions:
        record = one.record
        if record.digest is None:
            record = record.model_copy(update={"digest": submission_digest(held[one.name])})
        records.append(record)
    return Subject(
        dataset=dataset_record(dataset, None if first else key),
        profile=profile_digest(dataset.profiles, first=first),
        tasks={task_id: task_record(task, key, first=first) for task_id, task in known.items()},
        submissions=tuple(records),
        samples={one.name: sum(len(numbered) for numbered in one.samples.values()) for one in submissions},
    )


def contents_of(tasks: Mapping[str, Task], submissions: Iterable[Submission]) -> Samples:
    """What each sample holds, as a digest. Reads all of it, so it blocks for long."""
    found: Samples = {}
    for one in submissions:
        whole = one.record.digest if one.record.kind in _WHOLE else None
        for task_id, numbered in one.samples.items():
            for number, sample in numbered.items():
                held = whole or sample_digest(tasks[task_id].spec.artifacts, sample)
                found[task_id, one.name, number] = held
    return found


def dataset_record(dataset: Dataset, key: GoldKey | None) -> DatasetRecord:
    """Which dataset it is, and which key its gold is bound under."""
    return DatasetRecord(
        root=str(dataset.root.absolute()),
        dataset_id=dataset.dataset_id,
        version=dataset.version,
        layout=dataset.layout,
        gold_key=None if key is None else key.id,
        file=_if_there(dataset.root / FILES[dataset.layout]),
    )


def task_record(task: Task, key: GoldKey, *, first: bool = False) -> TaskRecord:
    """Digests of one task as it is now, its gold's under `key`. OSError when a file of it has gone.

    `first`: as `scorehost.job/1` took them.
    """
    run = [*task.run_code.items(), *_beside(task)]
    return TaskRecord(
        digests={
            "spec": task_digest(task.spec, first=first),
            "code": _files_digest(task.code.items(), first=first),
            "gold": _files_digest(task.gold.items(), first=True) if first else key.digest(_gold_files(task)),
            "run": _files_digest(run, first=first) if task.run_script else "",
        },
        files={TASK_FILE: _if_there(task.folder / TASK_FILE)},
        weight=task.spec.weight,
        score_range=task.spec.evaluation.output.score_range,
        direction=task.spec.evaluation.output.direction,
        verdict=task.spec.evaluation.output.verdict,
        metrics=tuple(
            MetricRecord(id=metric.id, direction=metric.direction, aggregate=metric.aggregate)
            for metric in task.spec.evaluation.metrics
        ),
        provoked="lowest",  # who makes a judge fail must not be better off than who fails before it
    )


def fingerprint(record: TaskRecord, content: str) -> str:
    """Of everything that bears on the verdict of one sample."""
    return jcs_digest([record.digests, content])


def _beside(task: Task) -> Iterable[tuple[str, Path]]:
    return ((f"data/{path}", file) for path, file in task.data.items())


def _if_there(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError:
        return ""


def _files_digest(files: Iterable[tuple[str, Path]], *, first: bool) -> str:
    if first:
        return digest({name: _fingerprint(path) for name, path in files})
    return jcs_digest({escaped(name): _fingerprint(path) for name, path in files})


def _gold_files(task: Task) -> Iterable[GoldFile]:
    for name, path in task.gold.items():
        status = path.stat()
        sha256 = None if status.st_size > HASHED_BYTES else file_digest(path).removeprefix("sha256:")
        yield GoldFile(name, status.st_size, bool(status.st_mode & 0o100), sha256)


def _fingerprint(path: Path) -> str:
    size = os.stat(path).st_size  # noqa: PTH116 - the plain call; there may be tens of thousands
    return f"size:{size}" if size > HASHED_BYTES else file_digest(path)
