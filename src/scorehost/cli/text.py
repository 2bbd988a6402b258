"""Text as the terminal shows it; what others wrote goes through `visible`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from scorehost.files.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["count", "score_text", "shorten", "typed", "visible"]


def typed(path: Path | str) -> str:
    """A path as one types it here: relative when it lies below the working directory."""
    try:
        text = os.path.relpath(path)
    except OSError:  # the working directory is gone
        return str(path)
    return str(path) if text.startswith("..") else text


def shorten(text: str, width: int) -> str:
    """`text` in at most `width` characters, cut with an ellipsis at its end."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def score_text(score: float | None) -> str:
    """A score as tables show it: four digits, `-` for none."""
    return "-" if score is None else f"{score:.4g}"


def count(number: int, word: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
