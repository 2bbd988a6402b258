"""Small files beside solutions and submissions: expect.yaml and submission.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.spec.bind import bind
from scorehost.spec.dataset import Expectation, SubmissionCard
from scorehost.spec.problems import Problems
from scorehost.spec.yaml_reader import read_file

if TYPE_CHECKING:
    from pathlib import Path

EXPECT_FILE = "expect.yaml"


def read_expectation(path: Path, *, shown: str = "", problems: Problems | None = None) -> Expectation:
    """expect.yaml at `path`. Problems go to `problems`, else they are raised as `SpecError`."""
    gathered = Problems() if problems is None else problems
    tree = read_file(path, file=shown or str(path), problems=gathered)
    card = bind(Expectation, tree, gathered)[0] if tree is not None else None
    if problems is None:
        gathered.raise_any()
    return card or Expectation()


def read_submission_card(path: Path, *, shown: str = "") -> SubmissionCard:
    """The submission.yaml at `path`, which messages call `shown`; raises `SpecError`."""
    problems = Problems()
    tree = read_file(path, file=shown or str(path), problems=problems)
    card = bind(SubmissionCard, tree, problems)[0] if tree is not None else None
    problems.raise_any()
    return card or SubmissionCard()
