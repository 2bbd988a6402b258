"""How an engine is opened: the one thing that callers and tests may put in the place of the real one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from scorehost.engine.door import Engine

OpenEngine = Callable[[str | None], AbstractAsyncContextManager[Engine]]
"""Takes the engine's address, None for the one that the environment names, as `open_engine` does."""
