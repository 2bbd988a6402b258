"""The Python API, which the command line uses too; the one place that chooses the concrete engine.

Names load when they are first used, so that a caller who only checks files loads no engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorehost.adapters.trial import Trial
    from scorehost.api.adapter_trial import try_adapter
    from scorehost.api.auditing import audit
    from scorehost.api.checking import CheckReport, TaskLine, check, import_humaneval
    from scorehost.api.comparing import compare
    from scorehost.api.diagnosis import clean, doctor
    from scorehost.api.locking import lock, moving_tags
    from scorehost.api.place import engine_host
    from scorehost.api.planning import DryRun, Planned, plan
    from scorehost.api.probing import probe
    from scorehost.api.reporting import ReportFormat, logs, report
    from scorehost.api.rescoring import rescore
    from scorehost.api.running import run, score
    from scorehost.api.scaffold import init
    from scorehost.api.scorer import Scored, Scorer
    from scorehost.api.scorer_block import open_scorer
    from scorehost.api.shelling import Look, look_into
    from scorehost.api.watching import Watched, narrowed, snapshot, wait_for_change
    from scorehost.compare.markdown import comparison_markdown
    from scorehost.compare.wording import Words, comparison_words
    from scorehost.files.encoding import require_utf8
    from scorehost.hosts.clean import CleanReport
    from scorehost.jobs.outcome import JobEvent, JobOutcome, Row, Watch
    from scorehost.jobs.running import Running
    from scorehost.model.audit import AuditFinding, AuditReport
    from scorehost.model.failure import Blame
    from scorehost.model.finding import Finding
    from scorehost.model.summary import Warned
    from scorehost.runs.attempt_logs import AttemptLog, Wanted
    from scorehost.scoring.asked import ScoreAsked
    from scorehost.scoring.rescore.moved import Move, Rescored
    from scorehost.spec.own_secrets import own_masker
    from scorehost.submissions.sample import Content

_WHERE = {
    "Trial": "scorehost.adapters.trial",
    "try_adapter": "scorehost.api.adapter_trial",
    "audit": "scorehost.api.auditing",
    "AuditReport": "scorehost.model.audit",
    "AuditFinding": "scorehost.model.audit",
    "Blame": "scorehost.model.failure",
    "CheckReport": "scorehost.api.checking",
    "TaskLine": "scorehost.api.checking",
    "check": "scorehost.api.checking",
    "import_humaneval": "scorehost.api.checking",
    "compare": "scorehost.api.comparing",
    "comparison_markdown": "scorehost.compare.markdown",
    "comparison_words": "scorehost.compare.wording",
    "Words": "scorehost.compare.wording",
    "clean": "scorehost.api.diagnosis",
    "doctor": "scorehost.api.diagnosis",
    "Finding": "scorehost.model.finding",
    "Content": "scorehost.submissions.sample",
    "lock": "scorehost.api.locking",
    "moving_tags": "scorehost.api.locking",
    "Look": "scorehost.api.shelling",
    "look_into": "scorehost.api.shelling",
    "Watched": "scorehost.api.watching",
    "narrowed": "scorehost.api.watching",
    "snapshot": "scorehost.api.watching",
    "wait_for_change": "scorehost.api.watching",
    "engine_host": "scorehost.api.place",
    "DryRun": "scorehost.api.planning",
    "Planned": "scorehost.api.planning",
    "plan": "scorehost.api.planning",
    "probe": "scorehost.api.probing",
    "own_masker": "scorehost.spec.own_secrets",
    "require_utf8": "scorehost.files.encoding",
    "ReportFormat": "scorehost.api.reporting",
    "logs": "scorehost.api.reporting",
    "report": "scorehost.api.reporting",
    "rescore": "scorehost.api.rescoring",
    "run": "scorehost.api.running",
    "score": "scorehost.api.running",
    "init": "scorehost.api.scaffold",
    "Scored": "scorehost.api.scorer",
    "Scorer": "scorehost.api.scorer",
    "open_scorer": "scorehost.api.scorer_block",
    "CleanReport": "scorehost.hosts.clean",
    "AttemptLog": "scorehost.runs.attempt_logs",
    "Wanted": "scorehost.runs.attempt_logs",
    "Running": "scorehost.jobs.running",
    "ScoreAsked": "scorehost.scoring.asked",
    "JobEvent": "scorehost.jobs.outcome",
    "JobOutcome": "scorehost.jobs.outcome",
    "Move": "scorehost.scoring.rescore.moved",
    "Rescored": "scorehost.scoring.rescore.moved",
    "Row": "scorehost.jobs.outcome",
    "Warned": "scorehost.model.summary",
    "Watch": "scorehost.jobs.outcome",
}

__all__ = [
    "AttemptLog",
    "AuditFinding",
    "AuditReport",
    "Blame",
    "CheckReport",
    "CleanReport",
    "Content",
    "DryRun",
    "Finding",
    "JobEvent",
    "JobOutcome",
    "Look",
    "Move",
    "Planned",
    "ReportFormat",
    "Rescored",
    "Row",
    "Running",
    "ScoreAsked",
    "Scored",
    "Scorer",
    "TaskLine",
    "Trial",
    "Wanted",
    "Warned",
    "Watch",
    "Watched",
    "Words",
    "audit",
    "check",
    "clean",
    "compare",
    "comparison_markdown",
    "comparison_words",
    "doctor",
    "engine_host",
    "import_humaneval",
    "init",
    "lock",
    "logs",
    "look_into",
    "moving_tags",
    "narrowed",
    "open_scorer",
    "own_masker",
    "plan",
    "probe",
    "report",
    "require_utf8",
    "rescore",
    "run",
    "score",
    "snapshot",
    "try_adapter",
    "wait_for_change",
]


def __getattr__(name: str) -> Any:
    """The public name, loaded from its module."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)
