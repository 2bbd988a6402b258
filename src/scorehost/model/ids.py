"""Names and ids: what they may look like, and how new ones are made."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime

from scorehost.model.frozen import Frozen

TASK_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
HOST_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
SUBMISSION_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
JOB_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
EVALUATOR = "evaluator"


class AttemptKey(Frozen):
    """Which attempt of a job: `sample` and `repeat` count from 1."""

    task_id: str
    submission: str
    sample: int = 1
    repeat: int = 1

    def __str__(self) -> str:
        return f"{self.task_id}/{self.submission}/{self.sample}.{self.repeat}"

    @property
    def folder(self) -> str:
        """The attempt's folder below `attempts/`."""
        return str(self)

    @property
    def seed(self) -> int:
        """The first 63 bits of sha256 over task_id, submission, sample and repeat, one a line."""
        text = f"{self.task_id}\n{self.submission}\n{self.sample}\n{self.repeat}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def new_job_id(now: datetime | None = None) -> str:
    """An id that sorts by time (UTC) and ends in 16 random bits, such as `20261130-074512-7f3a`."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def utc_now() -> str:
    """Now, as RFC 3339 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
