"""Every kind of job, with what a test needs to know to run one of it. A new kind comes in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from guessing import GuessAsked, GuessKind, GuessSitting
from scripted_jobs import Script, ScriptedSitting, answering, some_tasks

from scorehost.jobs.checks import asked_before
from scorehost.jobs.kind import Kind, Sitting
from scorehost.jobs.run import run_job
from scorehost.jobs.running import Running
from scorehost.model.options import options_of
from scorehost.runs.folder import find_job
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.scoring.kind import ScoreKind

NAMES = ("ant", "bee", "cicada", "dragonfly", "earwig", "firefly")


@dataclass(frozen=True)
class Entry:
    """One kind. `asked(root)` gives twelve attempts over `NAMES`, `twice(root)` two attempts of one name."""

    kind: Kind[Any, Any]
    asked: Callable[[Path], Any]
    twice: Callable[[Path], Any]
    sitting: Callable[..., Sitting[Any]]
    retries: bool  # whether the machinery's faults are tried again
    wrong: str  # the submission whose every attempt is FAIL where the gate is to be closed

    @property
    def tag(self) -> str:
        """Its tag."""
        return self.kind.tag


def _score_asked(root: Path, **more) -> ScoreAsked:
    for name in ("one", "two"):
        (root / name).mkdir(parents=True, exist_ok=True)
    words = (f"one={root / 'one'}", f"two={root / 'two'}")
    return ScoreAsked(**{"dataset": root / "dataset", "submissions": words, **more})


def _score_twice(root: Path) -> ScoreAsked:
    return _score_asked(root, submissions=(f"one={root / 'one'}", f"ONE={root / 'two'}"))


def _score_sitting(asked, running, script, ping):
    return ScriptedSitting(choose(asked, some_tasks(asked.dataset, *NAMES)), running, script, ping=ping)


def _guess_asked(root: Path) -> GuessAsked:
    return GuessAsked(catalog=root / "words", words=NAMES)


def _guess_twice(root: Path) -> GuessAsked:
    return GuessAsked(catalog=root / "words", words=("ant", "ant"))


TABLE = {
    "score": Entry(ScoreKind(None), _score_asked, _score_twice, _score_sitting, retries=True, wrong="one"),
    "guess": Entry(GuessKind(), _guess_asked, _guess_twice, GuessSitting, retries=False, wrong="treatment"),
}


def said(order, status: str = "PASS", **more) -> dict[str, Any]:
    """A verdict with the files of it that logs and derivations are made from."""
    text = order.key.task_id if status == "PASS" else "?"
    return {"status": status, "files": {"said.txt": text, "logs/evaluator.log": "a line\n"}, **more}


def usual(order):
    """One FAIL in each six of a submission, and one fault of the machinery at the first try."""
    if order.key.task_id == "cicada" and order.number == 1:
        return {"kind": "start_failed"}
    return said(order, "FAIL" if order.key.task_id == "earwig" else "PASS")


HOW = frozenset(name for name, _, _ in options_of(Running))


def go(entry: Entry, root: Path, script=None, *, asked=None, stop=None, clock=None, **how):
    """One job of that kind, start to end, or the rest of one with `resume`."""
    running = Running(**{"out": root / "runs", "concurrency": 2, **how})
    script = script or Script(said)
    if running.resume is None:
        asked = asked or entry.asked(root)
    else:
        asked = asked_before(entry.kind, find_job(running.out, running.resume).read_record(), asked)

    async def main():
        sitting = entry.sitting(asked, running, script, answering)
        return await run_job(
            entry.kind, sitting, running, lambda _event: None, stop=stop or anyio.Event(), clock=clock
        )

    return anyio.run(main)


def numbers(outcome) -> dict[str, Any]:
    """What must come out the same however often a job was broken off."""
    left_out = {"job_id", "started_at", "finished_at"}
    return {
        "rows": [(str(row.key), row.status, row.score) for row in outcome.rows],
        "summary": {name: value for name, value in outcome.summary.items() if name not in left_out},
        "exit_status": outcome.exit_status,
    }
