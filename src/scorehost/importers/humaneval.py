"""HumanEval's JSON lines written out as a dataset whose tests run apart from what they test."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scorehost.errors import Problem, SpecError, UsageError
from scorehost.model.json import BadJson
from scorehost.submissions.rows import rows_of

MAX_TEXT = 1_048_576  # characters of a prompt, a solution or a test
MAX_ROWS = 10_000
SHOWN_PROBLEMS = 20
ARTIFACT = "solution"
ARTIFACT_PATH = "artifacts/solution.py"
CALL_SECONDS = 5
TOTAL_SECONDS = 60

_SOURCE_ID = re.compile(r"[A-Za-z]+/([0-9]{1,6})")
_PROMPT = "data/prompt.py"
_TEXTS = ("task_id", "prompt", "entry_point", "canonical_solution", "test")

_README = """\
# HumanEval, scored apart

{count} problems of HumanEval, written by `scorehost import humaneval`. HumanEval is by OpenAI, under the MIT
licence, Copyright (c) OpenAI; that licence covers the prompts, canonical solutions and tests in `tasks/`.

A submission hands in `artifacts/solution.py`: a whole module that defines the function which the prompt asks
for, its imports included (the prompt followed by a completion is one). It may also come as rows of a file:

    {{"task_id": "{first}", "solution": "def …"}}

    scorehost run . --predictions FILE.jsonl

or as samples are published for HumanEval: a `completion`, which is put after the problem's prompt:

    {{"task_id": "{first}", "completion": "    return …"}}

`shared/humaneval.py` judges. The problem's test runs in the evaluator's host. Each call of the submitted
function crosses into the host `sandbox`, which holds no gold, and only plain data comes back. Functions that
a test uses besides the submitted one come from the canonical solution.
"""


@dataclass(frozen=True, slots=True)
class _Row:
    source_id: str
    number: int
    prompt: str
    entry_point: str
    canonical: str  # a whole module: the prompt, then its completion
    test: str

    @property
    def task_id(self) -> str:
        return f"humaneval-{self.number}"


def import_humaneval(file: Path, folder: Path) -> int:
    """Writes the problems of `file` (rows as `rows_of` reads them) as a dataset into `folder`; how many.

    `folder` must be new or empty, and appears whole or not at all. Raises UsageError when it is neither or
    `file` cannot be read, SpecError with the lines that are no HumanEval problem. Nothing of `file` is run.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there and not empty.", hint="Name a new folder.")
    rows = _read(file)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _write(rows, made)
        made.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return len(rows)


def _read(file: Path) -> list[_Row]:
    rows: dict[str, _Row] = {}
    problems: list[Problem] = []
    try:
        for count, (line, place, value) in enumerate(rows_of(file), start=1):
            if count > MAX_ROWS:
                raise UsageError(f"{file} has more than {MAX_ROWS} rows.", hint="Is it the HumanEval file?")
            try:
                _new(rows, _row(value))
            except _BadRowError as bad:
                key = ".".join(filter(None, (place, bad.key)))
                problems.append(Problem(str(file), line, min(line, 1), key, bad.text))
            if len(problems) >= SHOWN_PROBLEMS:
                break
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if problems:
        raise SpecError(problems)
    if not rows:
        raise UsageError(f"{file} has no rows.", hint="Give the HumanEval file, JSON lines, plain or .gz.")
    return list(rows.values())


def _new(rows: dict[str, _Row], row: _Row) -> None:
    if rows.setdefault(row.task_id, row) is not row:
        raise _BadRowError("task_id", "stands twice")


class _BadRowError(Exception):
    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key, self.text = key, text


def _row(value: Any) -> _Row:
    if isinstance(value, BadJson):
        raise _BadRowError("", str(value))
    if not isinstance(value, dict):
        raise _BadRowError("", "is no object")
    for key in _TEXTS:
        if not isinstance(value.get(key), str):
            raise _BadRowError(key, "must be there, as text")
        if len(value[key]) > MAX_TEXT:
            raise _BadRowError(key, f"has more than {MAX_TEXT} characters")
    match = _SOURCE_ID.fullmatch(value["task_id"])
    if match is None:
        raise _BadRowError("task_id", "is not a name, a slash and a number, such as HumanEval/0")
    if not value["entry_point"].isidentifier():
        raise _BadRowError("entry_point", "is no name of a function")
    canonical = value["prompt"] + value["canonical_solution"]
    _compiles("canonical_solution", canonical)
    _compiles("test", value["test"])
    return _Row(
        source_id=value["task_id"],
        number=int(match[1]),
        prompt=value["prompt"],
        entry_point=value["entry_point"],
        canonical=canonical,
        test=value["test"],
    )


def _compiles(key: str, source: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an unknown escape in a docstring
            compile(source, key, "exec")
    except (SyntaxError, ValueError):
        raise _BadRowError(key, "is not Python that compiles") from None


def _write(rows: list[_Row], root: Path) -> None:
    evaluator = Path(__file__).with_name("humaneval_evaluator.py").read_text("utf-8")
    _file(root / "dataset.yaml", _yaml(_dataset()))
    _file(root / "profiles.yaml", _yaml(_profiles()))
    _file(root / "README.md", _README.format(count=len(rows), first=rows[0].source_id))
    _file(root / "shared" / "__init__.py", '"""The evaluator that all tasks share."""\n')
    _file(root / "shared" / "humaneval.py", evaluator)
    for row in rows:
        task = root / "tasks" / row.task_id
        _file(task / "task.yaml", _yaml(_task(row)))
        _file(task / _PROMPT, row.prompt)
        _file(task / "evaluation" / "canonical.py", row.canonical)
        _file(task / "evaluation" / "test.py", row.test)
        _file(task / "solution" / ARTIFACT_PATH, row.canonical)


def _dataset() -> dict[str, Any]:
    sandbox = {
        "docker_image": "scorehost/python:3",
        "gold": False,
        "tmpfs_mb": 32,
        "limits": {"memory_mb": 256, "pids": 64},
    }
    return {
        "format": "scorehost.dataset/1",
        "dataset_id": "humaneval",
        "version": "1",
        "description": "HumanEval (OpenAI, MIT licence): functions to write, tests apart from what they test",
        "metadata": {"license": "MIT", "copyright": "OpenAI"},
        "tasks": {"root": "tasks"},
        "defaults": {
            "limits": {
                # More than all calls together may take, so that a slow submission ends by its own clock.
                "evaluate_seconds": TOTAL_SECONDS * 2,
                "exec_seconds": TOTAL_SECONDS + 30,
                "memory_mb": 256,
                "pids": 64,
            },
            "evaluation": {
                "entrypoint": "shared.humaneval:evaluate",
                "output": {"format": "json", "score_range": [0, 1]},
                "environments": {"sandbox": sandbox},
            },
        },
    }


def _profiles() -> dict[str, Any]:
    return {
        "format": "scorehost.profiles/1",
        "environment": "docker",
        "evaluate_host": {"isolated": True, "docker_image": "scorehost/python:3"},
        "concurrency": "auto",
    }


def _task(row: _Row) -> dict[str, Any]:
    return {
        "format": "scorehost.task/1",
        "task_id": row.task_id,
        "description": f"Write the function {row.entry_point}; data/prompt.py says what it does",
        "metadata": {"source_id": row.source_id, "prompt_file": _PROMPT},
        "tags": ["humaneval"],
        "parameters": {
            "entry_point": row.entry_point,
            "call_seconds": CALL_SECONDS,
            "total_seconds": TOTAL_SECONDS,
        },
        "artifacts": {
            "publishable": [
                {"id": ARTIFACT, "path": ARTIFACT_PATH, "media_type": "text/x-python", "max_bytes": 1_048_576}
            ]
        },
    }


def _yaml(value: dict[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")
