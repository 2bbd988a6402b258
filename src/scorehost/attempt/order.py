"""What one attempt is asked to score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scorehost.model.ids import AttemptKey
from scorehost.spec.dataset import Task


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sample's artifacts lie: below `folder` at their paths, or as texts by artifact id.

    Both may be empty: then the submission hands in nothing, which an evaluator must still judge.
    `refused` says why the hand-in could not even be looked into (a hostile archive, a link where its folder
    should be): the attempt is ERROR invalid_submission with this message. `run`: the task's run phase makes
    the artifacts.
    """

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    run: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt to be made. `number` counts the tries of this key from 1."""

    key: AttemptKey
    task: Task
    source: Source
    number: int = 1
