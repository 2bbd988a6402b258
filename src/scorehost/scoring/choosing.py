"""The dataset that a score job is about, read once, and those of its tasks that are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.scoring.selection import selected_tasks
from scorehost.spec.loading import load_dataset, load_either

if TYPE_CHECKING:
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.spec.dataset import Dataset, Task


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was asked, the dataset as it was read for it, and the chosen tasks with --set laid over them."""

    asked: ScoreAsked
    dataset: Dataset
    tasks: tuple[Task, ...]


def choose(asked: ScoreAsked, dataset: Dataset | None = None, *, resumed: bool = False) -> Chosen:
    """Reads the dataset (where the caller has not) and selects its tasks. Blocks.

    A job that is `resumed` may be about a task on its own. Raises SpecError, UsageError.
    """
    if dataset is None:
        load = load_either if resumed else load_dataset
        dataset = load(asked.dataset, profiles=asked.profiles, gold=asked.gold)
    return Chosen(asked, dataset, selected_tasks(asked, dataset))
