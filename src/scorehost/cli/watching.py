"""`run --watch`: the same job again whenever a file of it changes; Ctrl-C ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scorehost import api
from scorehost.cli.text import count, typed, visible
from scorehost.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_INTERRUPTED = 130
_NAMED = 3


def watch(first: api.ScoreAsked, out: Path, once: Callable[[api.ScoreAsked], int]) -> int:
    """Calls `once` (which runs the job and gives its status) now and after each change; the last status.

    After a change of some tasks alone the job is of these. Files that do not load are told, and watched until
    they do.
    """
    # Imported here: what tells of errors need not load where there is none.
    from scorehost.cli.failures import tell  # noqa: PLC0415

    asked = first
    while True:
        before = api.snapshot(first, out)
        try:
            status = once(asked)
        except InputError as error:
            status = tell(error, verbose=False)
        if status == _INTERRUPTED:
            return status
        only = " (there are more, which are not watched)" if before.cut else ""
        click.echo(f"watching {count(len(before.files), 'file')}{only}; Ctrl-C ends it", err=True)
        try:
            changed = api.wait_for_change(before)
        except KeyboardInterrupt:
            return status
        asked = api.narrowed(before, changed)
        names = ", ".join(map(typed, changed[:_NAMED]))
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        only = "" if asked is before.asked else f"; again: {', '.join(asked.tasks)}"
        click.echo(visible(f"changed: {names}{more}{only}"), err=True)
