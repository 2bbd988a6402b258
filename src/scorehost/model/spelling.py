"""Names in messages: what a misspelt one may have meant, and the first of many with the number of others."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN = 5


def near(word: str, names: Iterable[str]) -> str:
    """A hint that names what is spelled like `word`, else the first few names there are."""
    known = sorted(set(names))
    if not known:
        return "None exist."
    close = difflib.get_close_matches(word, known, n=SHOWN, cutoff=0.5)
    if close:
        return "Did you mean " + ", ".join(close) + "?"
    return f"Known: {some(known)}."


def some(names: Sequence[str], *, between: str = ", ") -> str:
    """The first few names, and how many more there are: nothing is cut without a word."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return between.join(names[:SHOWN]) + more
