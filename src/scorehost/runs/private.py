"""What of a job is private: decided here, by path and by field, for all that shows or exports."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorehost.model.check import CheckRow
    from scorehost.model.result import Result
    from scorehost.runs.scored import Scored

SALT_BYTES = 16
_RESULT, _MANIFEST, _CHECKS = "result.json", "manifest.json", "evaluation/checks.json"
_PUBLIC_FIELDS = (
    "title",
    "message",
    "recommendation",
    "severity",
    "score",
    "max_score",
    "weight",
    "tags",
    "details",
)


def is_private(path: str, checks: Iterable[CheckRow]) -> bool:
    """Whether a file of an attempt's folder is private, by its path there; `checks`: the rows of checks.json.

    Logs, calls, observations, salts, artifacts and the workspace may hold gold or somebody's work; so may
    whatever nobody thought of. checks.json is public while every row is (else see `shown_check`).
    """
    if path == _CHECKS:
        return any(row.visibility != "public" for row in checks)
    return path not in (_RESULT, _MANIFEST)


def private_metrics(metrics: Mapping[str, Any], declared: Iterable[str]) -> frozenset[str]:
    """Keys of the metrics that are private: all but the declared ones that are numbers."""
    known = frozenset(declared)
    return frozenset(name for name, value in metrics.items() if name not in known or not _is_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def result_salt(metrics: Mapping[str, Any], declared: Iterable[str]) -> str | None:
    """`salt` of a result: 32 hex digits of chance where some metric is private, else None.

    The hash of result.json stands in events. Whoever is shown the file without its private metrics could
    guess them from the hash, if something that cannot be guessed were not left out with them.
    """
    return secrets.token_hex(SALT_BYTES) if private_metrics(metrics, declared) else None


def shown_check(row: CheckRow, *, private: bool) -> Mapping[str, Any]:
    """A check as it may be shown: id and status, the free text of a public one, with `private` all of it."""
    whole = row.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    if private:
        return whole
    shown: dict[str, Any] = {"id": row.id, "status": row.status}
    if row.visibility == "public":
        shown |= {name: whole[name] for name in _PUBLIC_FIELDS if whole.get(name) not in (None, "", [])}
    return shown


def shown_text(row: CheckRow, *, private: bool) -> str:
    """Its message, else its title, where that may be shown; else ""."""
    return row.message or row.title if private or row.visibility == "public" else ""


def shown_metrics(result: Result, scored: Scored, *, private: bool) -> Mapping[str, Any]:
    """The declared metrics that are numbers, with `private` all that the evaluator returned."""
    return result.metrics if private else scored.metrics
