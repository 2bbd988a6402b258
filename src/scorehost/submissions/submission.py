"""One submission with its samples, and what submissions are looked up in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.runs.record import SubmissionRecord
from scorehost.submissions.sample import Sample

if TYPE_CHECKING:
    from scorehost.spec.dataset import Dataset, Task

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
