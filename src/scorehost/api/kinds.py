"""The kinds of jobs by their tags: job.json is read back through these."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError

if TYPE_CHECKING:
    from scorehost.engine.opener import OpenEngine
    from scorehost.jobs.kind import Kind

# tag -> where its class is, so that a kind that is not used is not loaded
KINDS: dict[str, tuple[str, str]] = {"score": ("scorehost.scoring.kind", "ScoreKind")}


def kind_of(tag: str, engine: OpenEngine = open_engine) -> Kind[Any, Any]:
    """The kind of that tag, with `engine` to open where it needs one. UsageError for an unknown tag."""
    if tag not in KINDS:
        raise UsageError(
            f"This scorehost knows no jobs of kind {tag!r}.",
            hint="It may be of a later version. Known here: " + ", ".join(KINDS),
        )
    module, name = KINDS[tag]
    made: Kind[Any, Any] = getattr(importlib.import_module(module), name)(engine)
    return made
