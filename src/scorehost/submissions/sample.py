"""One sample of a submission: where its artifacts are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scorehost.submissions.odd import Odd

Content = str | bytes | Path


@dataclass(frozen=True, slots=True)
class Sample:
    """Where a sample's artifacts lie: below `folder` at their paths, or as texts by artifact id.

    Both may be empty: then nothing is handed in, which an evaluator must still judge. `refused` says why the
    sample could not even be looked into (a hostile archive, a link where its folder should be): the attempt
    is ERROR invalid_submission with this message. `run`: the task's run phase makes the artifacts. `files`,
    by path, are a caller's own contents, which have to be laid out in a folder first. `paths`, by artifact
    id, are files that stand for an artifact whatever they are called. `odd` is what the archive that the
    folder comes from holds besides files and folders, and `shown` how messages call the sample. `exact`: the
    folder is scorehost's own, and what is not at an artifact's `place` in it is not there.
    """

    folder: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    run: bool = False
    files: Mapping[str, Content] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    odd: Odd = field(default_factory=Odd)
    shown: str = ""
    exact: bool = False
