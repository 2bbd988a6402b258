"""What is asked of a score job, and how it runs, from options by name."""

from __future__ import annotations

from scorehost.api import Running, ScoreAsked
from scorehost.model.options import options_of

HOW = frozenset(name for name, _, _ in options_of(Running))


def given(**options) -> tuple[ScoreAsked, Running]:
    """The two models that hold these options."""
    how = {name: options.pop(name) for name in list(options) if name in HOW}
    return ScoreAsked(**options), Running(**how)
