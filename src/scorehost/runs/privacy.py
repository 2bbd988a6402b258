"""What of an attempt is private: it may hold gold, prompts or submitted work, and is shown to nobody else."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from scorehost.model.check import CheckRow

RESULT_FILE = "result.json"
CHECKS_FILE = "evaluation/checks.json"
SALT_BYTES = 16


def is_private(path: str, checks: Iterable[CheckRow]) -> bool:
    """Whether a file of an attempt is private, by its path in it; `checks` are the rows of its checks.json.

    Public are result.json, and checks.json as long as every row is public. Logs, calls, observations, salts
    and what was handed in are private, and so is whatever nobody thought of.
    """
    if path == CHECKS_FILE:
        return any(row.visibility != "public" for row in checks)
    return path != RESULT_FILE


def private_metrics(metrics: Mapping[str, Any], declared: Collection[str]) -> frozenset[str]:
    """Keys of private metrics: those that an evaluator returns and its task does not declare."""
    return frozenset(metrics) - frozenset(declared)


def result_salt(metrics: Mapping[str, Any], declared: Iterable[str]) -> str | None:
    """`salt` of a result: 32 hex digits of chance where some metric is private, else None.

    The hash of result.json stands in events. Whoever is shown the file without its private metrics could
    guess them from the hash, if something that cannot be guessed were not left out with them.
    """
    return secrets.token_hex(SALT_BYTES) if private_metrics(metrics, frozenset(declared)) else None
