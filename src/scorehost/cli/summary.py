"""summary.json in a few lines: for each submission its mean, its bounds and its counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scorehost.cli.text import visible


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """The lines below the table."""
    return [visible(str(summary.get("status", "")))]
