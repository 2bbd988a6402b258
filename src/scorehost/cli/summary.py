"""summary.json in a few lines: for each submission its mean, its bounds and its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scorehost.cli.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """The lines below the table."""
    return [visible(str(summary.get("status", "")))]
