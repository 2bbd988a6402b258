"""What a score job is asked: which tasks, which submissions, how often. job.json holds it.

Stdlib only, since --help reads it; what is read back is validated by pydantic (see `jobs.kind`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from scorehost.model.options import option

HERE = Path()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreAsked:
    """Which attempts a score job has; an empty tuple means that the option was not given.

    `parent`: the folder of a job whose archived artifacts are the submissions, with `changed` only where
    something changed since. `staged`: a folder of submissions that were made up, NAME/<task_id>/…, each for
    the tasks that it has, scored once.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    kind: Literal["score"] = "score"
    dataset: Path = option(HERE, "", "", "place")
    tasks: tuple[str, ...] = option(
        (), "--task", "Tasks whose id matches; repeatable.", metavar="GLOB", many=True
    )
    tags: tuple[str, ...] = option((), "--tag", "Tasks with this tag; repeatable.", metavar="T", many=True)
    limit: int | None = option(None, "--limit", "The first N of the selected tasks.", "count", metavar="N")
    submissions: tuple[str, ...] = option(
        (),
        "--submission",
        "solution, empty, run, wrong:NAME, a folder, or NAME=PATH; repeatable.",
        metavar="…",
        many=True,
    )
    submissions_dir: Path | None = option(
        None, "--submissions", "Each child folder or archive is one.", "folder"
    )
    predictions: Path | None = option(
        None, "--predictions", "JSON lines with task_id and a text per artifact.", "file"
    )
    repeat: int = option(1, "--repeat", "Score each sample N times.", "count", metavar="N")
    samples: int | None = option(None, "--samples", "Ask the run phase for N samples.", "count", metavar="N")
    profiles: Path | None = option(None, "--profiles", "In place of the dataset's profiles.yaml.", "file")
    parameters: Mapping[str, Any] = option(
        None, "--set", "Set parameters.KEY; repeatable.", "pairs", metavar="KEY=VALUE"
    )
    gold: Path | None = option(None, "--gold", "Private gold, laid over the dataset's.", "folder")
    name: str | None = option(None, "--name", "A label for the job.", metavar="NAME")
    parent: Path | None = None
    changed: bool = False
    staged: Path | None = None

    def lasting(self) -> ScoreAsked:
        """The same with absolute paths, so that a resume from another folder finds them.

        Words of --submission stay: only who has found the submissions knows which of them are paths.
        """
        names = ("submissions_dir", "predictions", "profiles", "gold", "parent", "staged")
        paths: dict[str, Any] = {
            name: path.absolute() for name in names if (path := getattr(self, name)) is not None
        }
        return dataclasses.replace(self, dataset=self.dataset.absolute(), **paths)

    def at(self, place: Path) -> ScoreAsked:
        """What a job was asked, with its dataset at `place` now: paths inside the dataset go with it."""
        old, new = self.dataset, place.absolute()

        def moved(path: Path) -> Path:
            return new / path.relative_to(old) if path.is_relative_to(old) else path

        def word(text: str) -> str:
            name, equals, rest = text.partition("=")
            return f"{name}={moved(Path(rest))}" if equals and Path(rest).is_absolute() else text

        names = ("submissions_dir", "predictions", "profiles", "gold")
        paths: dict[str, Any] = {
            name: moved(path) for name in names if (path := getattr(self, name)) is not None
        }
        submissions = tuple(map(word, self.submissions))
        return dataclasses.replace(self, dataset=new, submissions=submissions, **paths)
