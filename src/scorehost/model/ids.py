"""Names and ids: what they may look like, and how new ones are made."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

from scorehost.model.frozen import Frozen

TASK_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
HOST_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
SUBMISSION_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
JOB_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
EVALUATOR = "evaluator"
PART_LONGEST = 64  # of the path part of a free id: within the patterns of tasks and of submissions
_HASHED = 8
# Windows refuses these whatever their ending; a job may be copied or unpacked there.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
_BETWEEN = re.compile(r"[^a-z0-9._]+")


def path_part(text: str) -> str:
    """A name for files that stands for the id `text`, which may be any text but "" (else ValueError).

    An id of small letters, digits, `.`, `_`, `-` that begins with a letter or digit, ends in no dot, has at
    most 64 characters and is not reserved on any system stands for itself. Any other becomes a readable
    slug, `-`, and the first 8 hex digits of the SHA-256 of the whole id: ids that differ only by case, by
    Unicode normal form or beyond the slug's end get different parts, also where file systems fold case.
    """
    if not text:
        raise ValueError("an id is empty")
    if len(text) <= PART_LONGEST and TASK_ID.fullmatch(text) and not _is_reserved(text):
        return text
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("an id holds a lone surrogate, which UTF-8 cannot hold") from None
    plain = unicodedata.normalize("NFKD", text).casefold().encode("ascii", "ignore").decode()
    slug = _BETWEEN.sub("-", plain).strip("-._")[: PART_LONGEST - _HASHED - 1].rstrip("-._")
    return f"{slug or 'id'}-{hashlib.sha256(data).hexdigest()[:_HASHED]}"


def path_parts(ids: Iterable[str]) -> dict[str, str]:
    """The path part of each id. Raises ValueError for two ids that come to one part: rename one of them."""
    parts: dict[str, str] = {}
    owners: dict[str, str] = {}
    for text in ids:
        part = path_part(text)
        other = owners.setdefault(part, text)
        if other != text:
            raise ValueError(f"the ids {other[:80]!r} and {text[:80]!r} come to one name of a folder, {part}")
        parts[text] = part
    return parts


def _is_reserved(text: str) -> bool:
    return text.endswith(".") or _RESERVED.fullmatch(text) is not None


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


def new_job_id(now: datetime | None = None) -> str:
    """An id that sorts by time (UTC) and ends in 16 random bits, such as `20261130-074512-7f3a`."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def utc_now() -> str:
    """Now, as RFC 3339 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
