"""Text and tables in Markdown that mean what they say, whatever the names in them hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scorehost.runs.reason import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CELL = 600  # characters of a cell or fact: a warning is cut at 500 before, a reason at 200
# What CommonMark and tables give a meaning to within a line; `&` and `<` begin HTML, `@` and `#` a mention.
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&@$])")


def plain(text: str) -> str:
    """`text` on one line with every mark escaped."""
    return _MARKS.sub(r"\\\1", one_line(text, CELL))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> list[str]:
    """The lines of a table; columns named in `right` are set to the right. Cells are escaped here."""
    rule = [" ---: " if name in right else " --- " for name in head]
    lines = [_line(head), "|" + "|".join(rule) + "|"]
    return lines + [_line(row) for row in rows]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(plain(cell) for cell in cells) + " |"
