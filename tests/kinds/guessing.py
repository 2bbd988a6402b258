"""A second kind of job, for tests: arms guess words, what they said is kept, treatment must beat control."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from scorehost.jobs.kind import Derived, Kind, Sitting
from scorehost.jobs.plan import Plan
from scorehost.model.comparison import Difference
from scorehost.model.ids import AttemptKey
from scorehost.model.json import digest
from scorehost.model.options import option
from scorehost.model.order import Order
from scorehost.model.summary import KindFigures
from scorehost.runs.record import DatasetRecord, Subject, SubmissionRecord, TaskRecord

ARMS = ("control", "treatment")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessAsked:
    """Which attempts a job of guesses has."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    kind: Literal["guess"] = "guess"
    catalog: Path = option(Path(), "", "", "place")
    words: tuple[str, ...] = option((), "--word", "Words to guess.", many=True)
    runs: int = option(1, "--runs", "Guesses of each arm at each word.", "count")
    gated: bool = option(default=True, flag="--gated", words="Treatment must be better.", sort="switch")
    name: str | None = option(None, "--name", "A label.")


@dataclass(frozen=True, slots=True)
class Guess:
    """What one attempt is made from."""

    word: str
    arm: str


class GuessFigures(KindFigures):
    """Mean of each arm, and how many guesses were right."""

    arms: dict[str, float | None]
    gated: bool


class GuessSitting(Sitting[Guess]):
    """Everything is in memory."""

    def __init__(self, asked, running, script, ping) -> None:
        self.asked, self.script, self.pinged = asked, script, ping
        self.concurrency = running.concurrency or 2

    async def plan(self, _desk):
        words = [word.strip() for word in self.asked.words]
        tasks = {word: TaskRecord(digests={"word": digest(word)}, score_range=(0.0, 1.0)) for word in words}
        orders = [
            Order(
                AttemptKey(task_id=word, submission=arm, repeat=run),
                Guess(word, arm),
                digest([word, arm]),
                ("short",) if len(word) < 4 else (),
            )
            for run in range(1, self.asked.runs + 1)
            for arm in ARMS
            for word in words
        ]
        subject = Subject(
            dataset=DatasetRecord(root=str(self.asked.catalog), dataset_id="guesses", version="1"),
            profile="",
            tasks=tasks,
            submissions=tuple(SubmissionRecord(name=arm, kind="arm", digest=digest(arm)) for arm in ARMS),
            samples=dict.fromkeys(ARMS, len(words)),
        )
        return Plan(replace(self.asked, catalog=self.asked.catalog.absolute()), orders, subject)

    @asynccontextmanager
    async def open(self, _plan, _place):
        yield self.script

    async def ping(self) -> None:
        await self.pinged()


class GuessKind(Kind[GuessAsked, Guess]):
    """Guesses; none is ever made again by itself."""

    tag = "guess"
    asked = GuessAsked
    retries = "never"

    def __init__(self, open_engine=None) -> None:
        self.open_engine = open_engine

    @asynccontextmanager
    async def begin(self, asked, running, _say):
        yield GuessSitting(asked, running, *self.open_engine)

    def figures(self, plan, _attempts, groups):
        means = {arm: groups.submissions[arm].mean_score for arm in groups.submissions}
        return GuessFigures(arms=means, gated=plan.asked.gated)

    def gate(self, summary):
        if not summary.gated:
            return "none"
        control, treatment = (summary.arms.get(arm) or 0.0 for arm in ARMS)
        return "met" if treatment > control else "not met"

    def must_agree(self, a, b, _pairs):
        was, now = a.record.tasks, b.record.tasks
        changed = [word for word in sorted(was.keys() & now.keys()) if was[word].digests != now[word].digests]
        if not changed:
            return ()
        return (Difference(what="word", kind="scoring", text="words differ", tasks=tuple(changed)),)

    def derive(self, attempt):
        if attempt.result.error is not None:
            return Derived("ERROR", None, (), ("nothing was said",))
        said = (attempt.folder / "said.txt").read_text()
        status, score = ("PASS", 1.0) if said == attempt.key.task_id else ("FAIL", 0.0)
        told = attempt.result.status
        return Derived(status, score, () if told == status else (f"result.json says {told}",))

    def moved(self, asked, place):
        return replace(asked, catalog=place)
