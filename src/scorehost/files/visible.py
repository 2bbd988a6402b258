"""Text of others made harmless: what a terminal, a browser or a reader of XML would act on is spelled out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# Control, format (bidi overrides among them), surrogate, private use (a font decides what it shows), line and
# paragraph separators, unassigned.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Cn"})
_SHORT = frozenset("\t\n\r")  # these alone have letters of their own in Python


def visible(text: str, *, keep: str = "", spell: Callable[[str], str] | None = None) -> str:
    r"""`text` with every control and format character as \x1b, \u202e, \U000e0001; those in `keep` stay.

    `spell` gives another spelling of one character.
    """
    if text.isascii() and text.isprintable():
        return text
    spelled = spell or _escape
    return "".join(
        spelled(char) if unicodedata.category(char) in _UNSAFE and char not in keep else char for char in text
    )


def _escape(char: str) -> str:
    if char in _SHORT:
        return f"\\x{ord(char):02x}"
    return char.encode("unicode_escape", "surrogatepass").decode()
