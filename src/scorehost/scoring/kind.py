"""The kind `score`: what it gives the machine. An audit and a rescore are score jobs too."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

from scorehost.attempt.agreement import disagreements
from scorehost.attempt.work import Work
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.errors import UsageError
from scorehost.jobs.kind import Derived, Gate, Kind, Retries, read_asked
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.figures import ScoreFigures, score_figures
from scorehost.spec.gold_key import OTHER_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.plan import Plan
    from scorehost.jobs.running import Running
    from scorehost.model.comparison import Difference
    from scorehost.model.ids import AttemptKey
    from scorehost.model.summary import Groups, Summary
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.runs.record import JobRecord, Subject
    from scorehost.runs.scored import Scored
    from scorehost.scoring.choosing import Chosen
    from scorehost.scoring.sitting import ScoreSitting

PARTS = {
    "spec": "task.yaml or --set",
    "code": "evaluator.py, lib/ or shared/",
    "gold": "gold",
    "run": "run.py or what it uses",
}
DATASET_FILE = "dataset.yaml"


class ScoreKind(Kind[ScoreAsked, Work]):
    """Submissions scored in hosts. `chosen`: what a caller has read and selected already."""

    tag: ClassVar[str] = "score"
    asked = ScoreAsked
    retries: ClassVar[Retries] = "machinery"

    def __init__(self, open_engine: OpenEngine, chosen: Chosen | None = None) -> None:
        self._open_engine = open_engine
        self._chosen = chosen

    @asynccontextmanager
    async def begin(
        self, asked: ScoreAsked, running: Running, say: Callable[[str], None]
    ) -> AsyncIterator[ScoreSitting]:
        """The dataset read, the engine of its profiles opened, and found able to hold its tasks."""
        # Imported here: who only reads jobs loads nothing of hosts.
        from scorehost.scoring.sitting import open_sitting  # noqa: PLC0415

        async with open_sitting(asked, self._chosen, running, say, self._open_engine) as sitting:
            yield sitting

    def figures(
        self,
        plan: Plan[Work],
        attempts: Mapping[AttemptKey, Scored],  # noqa: ARG002
        groups: Groups,
    ) -> ScoreFigures:
        """The ranking, and whether anything was scored in the container of its run phase."""
        return score_figures(plan.orders, groups.submissions)

    def gate(self, summary: Summary) -> Gate:
        """All PASS; an ERROR is no verdict and has an exit status of its own."""
        return "not met" if summary.counts.FAIL else "met"

    def must_agree(
        self, a: ReadJob, b: ReadJob, pairs: Sequence[tuple[Attempt, Attempt]]
    ) -> tuple[Difference, ...]:
        """Evaluator, gold, task, limits, runner and images of every task that both have."""
        return scoring_differences(a, b, pairs)

    def derive(self, attempt: Attempt) -> Derived:
        """What an evaluator returned is not kept, so a verdict does not follow from an attempt's files.

        What does: whether result, observations and the records of agents' calls tell one story.
        """
        result = attempt.result
        error = result.error
        differs = tuple(disagreements(attempt.folder))
        if error is not None:
            return Derived(
                "ERROR", None, differs, (f"that {error.kind} happened is told by result.json alone",)
            )
        unknown = "what evaluate() returned is not kept: status, score and metrics stand in result.json alone"
        return Derived(None, None, differs, (unknown,))

    def moved(self, asked: ScoreAsked, place: Path) -> ScoreAsked:
        """The same with the dataset at `place`; whether it is the same dataset, its digests say."""
        return asked.at(place)

    def part_words(self, was: Subject, now: Subject, task_id: str, part: str) -> str:
        """The file that a changed part of a task comes from."""
        if part == "spec" and was.by_dataset_file(now, task_id):
            return DATASET_FILE
        return PARTS.get(part, part)

    def incomparable(self, was: Subject, now: Subject) -> Mapping[str, str]:
        """Gold that was bound under another key."""
        before = was.dataset.gold_key
        return {} if before in (None, now.dataset.gold_key) else {"gold": OTHER_KEY}


def was_asked(record: JobRecord) -> ScoreAsked:
    """What an earlier score job was asked. UsageError for a job of another kind."""
    if record.kind != ScoreKind.tag:
        raise UsageError(f"{record.job_id} is a {record.kind} job, not a score job.")
    return read_asked(ScoreAsked, record)
