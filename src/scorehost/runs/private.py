"""What of a job is private: decided here, by path and by field, for all that shows or exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorehost.model.check import CheckRow
    from scorehost.model.result import Result
    from scorehost.runs.scored import Scored

# Of an attempt: everything else (result.json, manifest.json, what a later version adds) is asked for by name.
_PUBLIC_FILES = frozenset({"result.json", "manifest.json"})
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


def is_public_file(path: str) -> bool:
    """Whether a file of an attempt's folder may leave the job as it is.

    Logs, calls, observations, artifacts and the workspace may hold gold or somebody's work; checks.json has
    rows of both kinds (`shown_check`).
    """
    return path in _PUBLIC_FILES


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
