"""Which progress display fits: live on a terminal that a person watches, plain lines everywhere else."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, TextIO, cast

from scorehost.cli.plain import PlainLines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from scorehost.api import JobEvent

    Display = AbstractContextManager[Callable[[JobEvent], None]]

_FALSE = frozenset({"", "0", "false", "no"})


def is_live(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal that can be drawn on, and no CI (CI=0 and CI=false are none)."""
    if environment.get("CI", "").lower() not in _FALSE:
        return False
    return stream.isatty() and environment.get("TERM", "") not in ("", "dumb")


def display(*, verbose: bool) -> Display:
    """The display for this process's stderr: a context manager that gives a `Watch`."""
    if not is_live(sys.stderr, os.environ):
        return PlainLines(verbose=verbose)
    live = importlib.import_module("scorehost.cli.live")  # rich is loaded only where it draws
    return cast("Display", live.LiveDisplay(verbose=verbose))
