"""Text that is safe on a terminal: what others wrote cannot move the cursor or forge a line."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Control, format (bidi overrides among them), surrogate, line and paragraph separators, unassigned.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"})

_SHORT = frozenset("\t\n\r")  # these alone have letters of their own in Python


def visible(text: str, *, keep: str = "") -> str:
    r"""`text` with every control and format character as \x1b, \u202e, \U000e0001; those in `keep` stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(char) if unicodedata.category(char) in _UNSAFE and char not in keep else char for char in text
    )


def _escape(char: str) -> str:
    return (
        char.encode("unicode_escape", "surrogatepass").decode()
        if char not in _SHORT
        else f"\\x{ord(char):02x}"
    )


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
