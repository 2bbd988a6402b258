"""`--predictions`: rows that hold artifacts as texts; rows that repeat a task are its samples."""

from __future__ import annotations

import difflib
import stat
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.errors import Problem, SpecError, UsageError
from scorehost.model.json import BadJson
from scorehost.model.spelling import near
from scorehost.spec.files import relative_path_fault
from scorehost.submissions.rows import rows_of
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from scorehost.spec.dataset import Dataset, Task
    from scorehost.spec.task import Artifact

SHOWN_PROBLEMS = 20
TASK_KEY = "task_id"
OTHER_TASK_KEY = "instance_id"
COMPLETION = "completion"  # as HumanEval publishes samples: what follows the task's prompt
PATCH = "model_patch"  # as SWE-bench does: a change, not a file
PROMPT_FILE = "prompt_file"  # metadata of a task: where its prompt lies
_PATCHES = (".patch", ".diff")
_ROW = 'A row is {"task_id": …, "<artifact id>": "text"}'
_FORM = f"{_ROW}; one stands on each line, or all in one JSON array, in UTF-8. CSV is not read"
_MAX_PROMPT_BYTES = 1024 * 1024
_IGNORED = 1_000  # keys that are counted one by one: rows of strangers may have millions
_REST = "…"  # all others together
_SIMILAR = 0.75  # of a key and an artifact that the row has not: then it is a slip, and not left out unseen


@dataclass(frozen=True, slots=True)
class Rows:
    """The samples of each task that a file has rows for, by the task's id, in order of lines.

    `completed`: some are made of more than the file. `warnings`: what was not taken, counted.
    """

    samples: Mapping[str, tuple[Sample, ...]]
    completed: bool
    warnings: tuple[str, ...]


def read_predictions(path: Path, dataset: Dataset) -> Rows:
    """Every row of the file.

    A row's `task_id` (or `instance_id`) is a task's id or its `metadata.source_id`. Raises SpecError with
    each bad line, UsageError when the file cannot be read, is too large, or has no row for any task.
    """
    index = _Index(dataset)
    samples: dict[str, list[Sample]] = {}
    problems: list[Problem] = []
    try:
        _expect_lasting(path)
        for number, place, row in rows_of(path):
            try:
                found = index.row(row)
            except _BadRowError as bad:
                key = ".".join(filter(None, (place, bad.key)))
                hint = "" if bad.hint == _FORM and problems else bad.hint  # the form is told once
                problems.append(Problem(str(path), number, min(number, 1), key, bad.text, hint))
                if len(problems) >= SHOWN_PROBLEMS:
                    break
                continue
            if found is not None:
                samples.setdefault(found[0].task_id, []).append(Sample(texts=found[1]))
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if problems:
        raise SpecError(problems)
    if not samples and index.unknown:
        first = next(iter(index.unknown))
        raise UsageError(
            f"{path} has no row for any task of the dataset: {_rows(index.unknown.total(), verb=True)} for "
            f"others, such as {first[:128]!r}.",
            hint=index.near(first),
        )
    if not samples:
        raise UsageError(f"{path} has no rows.", hint=f"{_ROW}.")
    return Rows(
        {task_id: tuple(sources) for task_id, sources in samples.items()},
        index.completed,
        tuple(index.told()),
    )


def _expect_lasting(path: Path) -> None:
    """A file is read again for its digest, and by a resume; what comes out of a pipe is gone by then."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(
            f"{path} is no regular file, and what a job scores must be there for a resume too.",
            hint="Write the rows into a file, and name that.",
        )


def _rows(number: int, *, verb: bool = False) -> str:
    one, more = ("1 row is", "rows are") if verb else ("1 row", "rows")
    return one if number == 1 else f"{number} {more}"


class _BadRowError(Exception):
    def __init__(self, text: str, *, key: str = "", hint: str = "") -> None:
        super().__init__(text)
        self.key, self.text, self.hint = key, text, hint


@dataclass(slots=True)
class _Index:
    """Finds a row's task, and what of the row are the task's artifacts; counts what is neither."""

    dataset: Dataset
    unknown: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    completed: bool = False
    _by_source: dict[str, list[Task]] = field(default_factory=dict)
    _prompts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for task in self.dataset.tasks.values():
            source = task.spec.metadata.get("source_id")
            if isinstance(source, str):
                self._by_source.setdefault(source, []).append(task)

    def row(self, row: Any) -> tuple[Task, Mapping[str, str]] | None:
        """The task and the artifacts of a row; None when the dataset has no such task."""
        if isinstance(row, BadJson):
            raise _BadRowError(str(row), hint=_FORM)
        if not isinstance(row, dict):
            raise _BadRowError("a row must be an object", hint=_FORM)
        word = TASK_KEY if TASK_KEY in row else OTHER_TASK_KEY
        task = self._task(row.pop(word, None), word if word in row or TASK_KEY in row else TASK_KEY)
        return None if task is None else (task, self._texts(task, row))

    def near(self, word: str) -> str:
        """A hint at the tasks that are spelled like `word`."""
        return near(word, [*self.dataset.tasks, *self._by_source])

    def told(self) -> Iterable[str]:
        """What was not read."""
        if self.unknown:
            first, rows = next(iter(self.unknown)), _rows(self.unknown.total(), verb=True)
            tasks = "1 task" if len(self.unknown) == 1 else f"{len(self.unknown)} tasks"
            yield (
                f"{rows} for {tasks} that the dataset has not, such as {first[:128]!r}, and not scored. "
                f"{self.near(first)}"
            )
        if self.ignored:
            keys = ", ".join(f"{key[:64]!r} ({_rows(count)})" for key, count in self.ignored.most_common(5))
            more = f" and {len(self.ignored) - 5} more" if len(self.ignored) > 5 else ""  # noqa: PLR2004 - as above
            yield f"keys of rows that are no artifacts are not read: {keys}{more}."

    def _task(self, word: Any, key: str) -> Task | None:
        if not isinstance(word, str):
            raise _BadRowError("must be there, as text", key=key, hint=_ROW)
        if word in self.dataset.tasks:
            return self.dataset.tasks[word]
        found = self._by_source.get(word, [])
        if len(found) > 1:
            ids = ", ".join(task.task_id for task in found[:5])
            raise _BadRowError(f"{word} is the source_id of {ids}", key=key, hint="Use the task's own id")
        if not found:
            self.unknown[word] += 1
            return None
        return found[0]

    def _texts(self, task: Task, row: Mapping[str, Any]) -> dict[str, str]:
        artifacts = {artifact.id: artifact for artifact in task.spec.artifacts}
        texts = {key: _text(key, value, artifacts) for key, value in row.items() if key in artifacts}
        others = [key for key in row if key not in artifacts]
        for key in (COMPLETION, PATCH):
            if key in others and not texts:
                artifact, text = self._meant(key, row[key], task)
                texts[artifact.id] = text
                others.remove(key)
        missing = [name for name in artifacts if name not in texts]
        for key in others:
            close = difflib.get_close_matches(key, missing, n=1, cutoff=_SIMILAR)
            if close or not texts:
                hint = near(key, missing) if key not in (COMPLETION, PATCH) else ""
                raise _BadRowError(f"the task {task.task_id} has no such artifact", key=key[:128], hint=hint)
        for key in others:
            known = key in self.ignored or len(self.ignored) < _IGNORED
            self.ignored[key if known else _REST] += 1
        return texts

    def _meant(self, key: str, value: Any, task: Task) -> tuple[Artifact, str]:
        """The artifact that a published format's own key stands for, and its text: never one that would mean
        something else under the artifact's name.
        """
        files = [artifact for artifact in task.spec.artifacts if artifact.kind == "file"]
        if not isinstance(value, str):
            raise _BadRowError("must be text", key=key)
        if key == COMPLETION:
            prompt = self._prompt(task)
            if prompt is None or len(files) != 1:
                raise _BadRowError(
                    f"is what follows a prompt, and the task {task.task_id} does not say where that lies",
                    key=key,
                    hint=f"Name a file of the task in metadata.{PROMPT_FILE} (`scorehost import humaneval` "
                    "does), or hand in whole artifacts; a completion alone is none",
                )
            self.completed = True
            return files[0], prompt + value
        patches = [one for one in files if one.path.endswith(_PATCHES) or "diff" in one.media_type]
        if len(patches) != 1:
            raise _BadRowError(
                f"is a change of files, and the task {task.task_id} asks for no single patch",
                key=key,
                hint="Hand in the artifacts themselves: " + ", ".join(one.id for one in files[:5]),
            )
        return patches[0], value

    def _prompt(self, task: Task) -> str | None:
        name = task.spec.metadata.get(PROMPT_FILE)
        if not isinstance(name, str) or relative_path_fault(name):
            return None
        if task.task_id not in self._prompts:
            path = task.folder / name
            try:
                inside = path.resolve().is_relative_to(task.folder.resolve())
                if not inside or not path.is_file() or path.stat().st_size > _MAX_PROMPT_BYTES:
                    return None
                self._prompts[task.task_id] = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                return None
        return self._prompts[task.task_id]


def _text(key: str, value: Any, artifacts: Mapping[str, Artifact]) -> str:
    shown = key[:128]
    if artifacts[key].kind == "tree":
        raise _BadRowError("is a tree, which a row cannot hold", key=shown, hint="Hand in a folder instead")
    if not isinstance(value, str):
        raise _BadRowError("must be text", key=shown)
    return value
