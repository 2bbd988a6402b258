"""What one attempt is asked to score."""

from __future__ import annotations

from dataclasses import dataclass

from scorehost.model.ids import AttemptKey
from scorehost.spec.dataset import Task
from scorehost.submissions.source import Source


@dataclass(frozen=True, slots=True)
class Order:
    """One attempt to be made. `number` counts the tries of this key from 1."""

    key: AttemptKey
    task: Task
    source: Source
    number: int = 1
