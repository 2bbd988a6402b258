"""A new dataset of one task that passes `check` and scores: something to change, not to read about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scorehost.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_NOT_IN_ID = re.compile(r"[^a-z0-9._-]+")

_DATASET = """\
format: scorehost.dataset/1
dataset_id: {name}
version: "0.1.0"
description: A new dataset
"""

_PROFILES = """\
format: scorehost.profiles/1
environment: docker
evaluate_host:
  isolated: true
  docker_image: scorehost/python:3
"""

_TASK = """\
format: scorehost.task/1
task_id: count-words
description: Count how often each word stands in a text.
tags: [example]
limits:
  evaluate_seconds: 60
  memory_mb: 256
artifacts:
  publishable:
    - id: counts
      path: artifacts/counts.json
      media_type: application/json
      max_bytes: 1048576
evaluation:
  runtime: python
  entrypoint: evaluator:evaluate
  output: {format: json, score_range: [0, 1]}
"""

_EVALUATOR = '''\
"""Scores the share of words whose count is right; a PASS needs all of them and no others."""

import json
from pathlib import Path

from scorehost_sdk import evaluation_check


def evaluate(inputs):
    """Gives the verdict on one submission."""
    expected = json.loads((Path(inputs["evaluation_dir"]) / "expected.json").read_text())
    given = read_counts(inputs["artifacts"].get("counts"))
    if given is None:
        check = evaluation_check("readable", status="FAIL", message="counts.json is no JSON object")
        return {"status": "FAIL", "score": 0.0, "checks": [check]}
    right = sum(type(given.get(word)) is int and given[word] == number for word, number in expected.items())
    extra = set(given) - set(expected)
    ok = right == len(expected) and not extra
    check = evaluation_check(
        "counts",
        status="PASS" if ok else "FAIL",
        message=f"{right} of {len(expected)} words right, {len(extra)} words too many",
        visibility="public",
    )
    score = 1.0 if ok else min(right / len(expected), 0.99)
    return {"status": "PASS" if ok else "FAIL", "score": score, "checks": [check]}


def read_counts(path):
    """The submitted object, or None when there is none: a bad hand-in is a FAIL, never a crash."""
    if path is None:
        return None
    try:
        value = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
'''

_README = """\
# count-words

Hand in `artifacts/counts.json`: a JSON object that gives for each word of this text how often it is there.

    the cat sees the dog and the dog sees the cat
"""

_EXPECTED = '{"and": 1, "cat": 2, "dog": 2, "sees": 2, "the": 4}\n'
_WRONG = '{"and": 1, "cat": 2, "dog": 2, "sees": 2, "the": 3}\n'

_FILES = {
    "dataset.yaml": _DATASET,
    "profiles.yaml": _PROFILES,
    ".gitignore": "runs/\n",
    "tasks/count-words/task.yaml": _TASK,
    "tasks/count-words/evaluator.py": _EVALUATOR,
    "tasks/count-words/README.md": _README,
    "tasks/count-words/evaluation/expected.json": _EXPECTED,
    "tasks/count-words/solution/artifacts/counts.json": _EXPECTED,
    "tasks/count-words/solution-wrong/one-off/artifacts/counts.json": _WRONG,
    "tasks/count-words/solution-wrong/one-off/expect.yaml": "status: FAIL\ncheck: counts\nmax_score: 0.8\n",
}


def init(folder: Path) -> list[Path]:
    """Writes the dataset into `folder`, new or empty, and gives its files. UsageError for another folder."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not empty.", hint="Name a new folder; nothing was written.")
        name = _NOT_IN_ID.sub("-", folder.resolve().name.lower()).strip("-._") or "dataset"
        written = []
        for path, text in _FILES.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                text.replace("{name}", name) if path == "dataset.yaml" else text, encoding="utf-8"
            )
            written.append(target)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}.", hint="Name another folder."
        ) from None
    return written
