"""Jobs on the real engine."""

from __future__ import annotations

import functools
import re
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from scorehost.api.doctor import limits_of
from scorehost.api.finding import Finding
from scorehost.api.probing import never_fit
from scorehost.api.signals import stop_on_signals
from scorehost.attempt.bench import open_bench
from scorehost.attempt.score import score as score_attempt
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.jobs.options import RunOptions
from scorehost.jobs.outcome import JobEvent, JobOutcome, Watch
from scorehost.jobs.run import run_job
from scorehost.jobs.select import selected_tasks
from scorehost.model.ids import SUBMISSION_NAME
from scorehost.spec.loading import load_dataset, load_task_dir

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.jobs.scoring import JobPlace, Score
    from scorehost.spec.dataset import Dataset

Opener = Callable[[str | None], AbstractAsyncContextManager[Engine]]
