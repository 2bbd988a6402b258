"""What a misspelt name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 5


def near(word: str, names: Iterable[str]) -> str:
    """A hint that names what is spelled like `word`, else the first few names there are."""
    known = sorted(set(names))
    if not known:
        return "None exist."
    close = difflib.get_close_matches(word, known, n=SHOWN, cutoff=0.5)
    if close:
        return "Did you mean " + ", ".join(close) + "?"
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return "Known: " + ", ".join(known[:SHOWN]) + more + "."
