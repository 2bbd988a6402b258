"""What is known of an attempt while it runs."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from scorehost.attempt.agents import AttemptAgents
from scorehost.attempt.binding import Verdict
from scorehost.attempt.digests import TaskTrees
from scorehost.attempt.run_phase import RunPhase
from scorehost.attempt.work import WorkOrder
from scorehost.hosts.kept import KeptHosts
from scorehost.model.failure import Phase
from scorehost.model.ids import utc_now
from scorehost.model.metrics import unusable, unusable_words
from scorehost.model.result import HostUsage
from scorehost.model.spelling import some
from scorehost.submissions.intake import Taken

Emit = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class Progress:
    """What is known of an attempt so far: a failure at any point still tells all of it."""

    order: WorkOrder
    emit: Emit
    shelter: KeptHosts | None = None
    started_at: str = field(default_factory=utc_now)
    phase: Phase = Phase.PREPARE
    timing: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    warnings: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)  # logs of which something is missing
    trees: TaskTrees | None = None
    taken: Taken | None = None
    hosts: tuple[HostUsage, ...] = ()
    told: list[Any] = field(default_factory=list)  # rows of checks that counted at once
    agents: AttemptAgents | None = None
    run: RunPhase = field(default_factory=RunPhase)

    def enter(self, phase: Phase) -> None:
        """A phase begins."""
        if phase is not Phase.CLEANUP:  # what failed, failed before
            self.phase = phase
        self.emit("phase", {"phase": phase.value})

    def spent(self, phase: str, seconds: float) -> None:
        """So long it took, beside what it took before."""
        self.timing[phase] += seconds

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Counts what the block takes."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.spent(phase, time.monotonic() - begun)

    def judged(self, verdict: Verdict) -> None:
        """There is a verdict, and what it has to say."""
        self.warnings += verdict.warnings
        declared = (metric.id for metric in self.order.work.task.spec.evaluation.metrics)
        self.warnings += unusable_words(unusable(verdict.metrics, declared))

    @property
    def said(self) -> list[str]:
        """The warnings of its result."""
        cut = [f"output was cut (limits.output_bytes) in {some(self.cut)}"] if self.cut else []
        return [*self.warnings, *cut]
