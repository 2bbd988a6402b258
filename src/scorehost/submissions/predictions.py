"""`--predictions`: JSONL rows that hold artifacts as texts; rows that repeat a task are its samples."""

from __future__ import annotations

import gzip
import stat
import zlib
from typing import TYPE_CHECKING, Any

from scorehost.aio.aside import still_wanted
from scorehost.errors import Problem, SpecError, UsageError
from scorehost.model.json import BadJson, parse
from scorehost.model.spelling import near
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scorehost.spec.dataset import Dataset, Task

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_TEXT_BYTES = 1024**3  # all rows together; they stay in memory until the job ends
SHOWN_PROBLEMS = 20
TASK_KEY = "task_id"


def read_predictions(path: Path, dataset: Dataset) -> Mapping[str, tuple[Sample, ...]]:
    """The samples of each task that the file has rows for, by the task's id, in order of lines.

    A row's `task_id` is a task's id or its `metadata.source_id`. Raises SpecError with each bad line,
    UsageError when the file cannot be read or is too large.
    """
    index = _Index(dataset)
    samples: dict[str, list[Sample]] = {}
    problems: list[Problem] = []
    total = 0
    try:
        _expect_lasting(path)
        with _opened(path) as stream:
            for number, line in _lines(stream, path):
                total += len(line)
                if total > MAX_TEXT_BYTES:
                    raise UsageError(
                        f"{path} holds more than {MAX_TEXT_BYTES} bytes of rows.",
                        hint="Hand in folders, or split it over several jobs.",
                    )
                try:
                    task, texts = index.row(line)
                except _BadRowError as bad:
                    problems.append(Problem(str(path), number, 1, bad.key, bad.text, bad.hint))
                    if len(problems) >= SHOWN_PROBLEMS:
                        break
                    continue
                samples.setdefault(task.task_id, []).append(Sample(texts=texts))
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if problems:
        raise SpecError(problems)
    if not samples:
        raise UsageError(f"{path} has no rows.", hint='A row is {"task_id": …, "<artifact id>": "text"}.')
    return {task_id: tuple(sources) for task_id, sources in samples.items()}


def _expect_lasting(path: Path) -> None:
    """A file is read again for its digest, and by a resume; what comes out of a pipe is gone by then."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(
            f"{path} is no regular file, and what a job scores must be there for a resume too.",
            hint="Write the rows into a file, and name that.",
        )


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def _lines(stream: gzip.GzipFile | io.BufferedReader, path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        still_wanted()
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise UsageError(f"{path}:{number} is longer than {MAX_LINE_BYTES} bytes.")
        if line.strip():
            yield number, line


class _BadRowError(Exception):
    def __init__(self, text: str, *, key: str = "", hint: str = "") -> None:
        super().__init__(text)
        self.key, self.text, self.hint = key, text, hint


class _Index:
    """Finds a row's task, and checks its keys against the task's artifacts."""

    def __init__(self, dataset: Dataset) -> None:
        self._tasks = dataset.tasks
        self._by_source: dict[str, list[Task]] = {}
        for task in dataset.tasks.values():
            source = task.spec.metadata.get("source_id")
            if isinstance(source, str):
                self._by_source.setdefault(source, []).append(task)

    def row(self, line: bytes) -> tuple[Task, Mapping[str, str]]:
        try:
            row = parse(line, max_bytes=MAX_LINE_BYTES)
        except BadJson as error:
            raise _BadRowError(str(error)) from None
        if not isinstance(row, dict):
            raise _BadRowError("a row must be an object")
        task = self._task(row.pop(TASK_KEY, None))
        kinds = {artifact.id: artifact.kind for artifact in task.spec.artifacts}
        for key, value in row.items():
            _check(key, value, kinds, task.task_id)
        return task, row

    def _task(self, word: Any) -> Task:
        if not isinstance(word, str):
            raise _BadRowError("must be there, as text", key=TASK_KEY)
        if word in self._tasks:
            return self._tasks[word]
        found = self._by_source.get(word, [])
        if len(found) > 1:
            ids = ", ".join(task.task_id for task in found[:5])
            raise _BadRowError(
                f"{word} is the source_id of {ids}", key=TASK_KEY, hint="Use the task's own id"
            )
        if not found:
            hint = near(word, [*self._tasks, *self._by_source])
            raise _BadRowError(f"the dataset has no task {word[:128]!r}", key=TASK_KEY, hint=hint)
        return found[0]


def _check(key: str, value: Any, kinds: Mapping[str, str], task_id: str) -> None:
    shown = key[:128]
    if key not in kinds:
        raise _BadRowError(f"the task {task_id} has no such artifact", key=shown, hint=near(key, kinds))
    if kinds[key] == "tree":
        raise _BadRowError("is a tree, which a row cannot hold", key=shown, hint="Hand in a folder instead")
    if not isinstance(value, str):
        raise _BadRowError("must be text", key=shown)
