"""For each finding of an audit the command that shows it again, by itself."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.scoring.rescore.archive import TOPS

if TYPE_CHECKING:
    from scorehost.model.audit import MadeUp
    from scorehost.runs.folder import JobFolder
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.spec.dataset import Dataset

CLOCK, REPEATS = "clock-decides", "repeats-differ"  # kinds of finding that one scoring cannot show


class Commands:
    """Commands for the hand-ins of the audit whose job lies in `folder`.

    What was made for the audit is scored from the job's archive, which stays as long as the job; from where
    it was staged only when nothing of it was archived.
    """

    def __init__(self, asked: ScoreAsked, dataset: Dataset, folder: JobFolder) -> None:
        self._asked, self._dataset, self._folder = asked, dataset, folder

    def __call__(self, kind: str, made_up: MadeUp) -> str:
        """The command for a finding of this kind at this hand-in."""
        root = _near(self._dataset.root)
        chosen = (root, "--task", made_up.task_id)
        if kind == CLOCK:
            return self._line("audit", *chosen)
        word = self._word(made_up)
        made = made_up.role in ("mutant", "attack")
        named = f"{made_up.name}={word}" if made else word
        if kind == REPEATS:
            return self._line("run", *chosen, "--submission", named, "--repeat", str(self._asked.repeat))
        if self._asked.gold is None and self._asked.profiles is None:
            return self._line("score", _near(self._dataset.tasks[made_up.task_id].folder), word)
        # `score` has no private gold and no other profiles.
        return self._line("run", *chosen, "--submission", named)

    def _word(self, made_up: MadeUp) -> str:
        if made_up.role == "wrong":
            return "wrong:" + made_up.name.removeprefix("wrong-")
        if made_up.role not in ("mutant", "attack") or self._asked.staged is None:
            return made_up.name
        archived = self._folder.path / "attempts" / made_up.task_id / made_up.name / "1.1"
        if any((archived / top).is_dir() for top in TOPS):
            return _near(archived)
        return _near(self._asked.staged / made_up.name / made_up.task_id)

    def _line(self, *words: str) -> str:
        line = ["scorehost", *words]
        if self._asked.gold is not None:
            line += ["--gold", _near(self._asked.gold)]
        if self._asked.profiles is not None:
            line += ["--profiles", _near(self._asked.profiles)]
        return shlex.join(line)


def _near(path: Path) -> str:
    """A path as one types it here: relative when it lies below the working directory."""
    text = os.path.relpath(path)
    return str(path.absolute()) if text.startswith("..") else text
