"""`run --watch`: the same job again whenever a file of it changes; Ctrl-C ends it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scorehost import api
from scorehost.cli.text import count, visible
from scorehost.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_INTERRUPTED = 130
_NAMED = 3


def watch(options: api.RunOptions, once: Callable[[], int]) -> int:
    """Calls `once` (which runs the job and gives its status) now and after each change; the last status.

    Files that do not load are told, and watched until they do.
    """
    # Imported here: what tells of errors need not load where there is none.
    from scorehost.cli.failures import tell  # noqa: PLC0415

    while True:
        before = api.snapshot(options)
        try:
            status = once()
        except InputError as error:
            status = tell(error, verbose=False)
        if status == _INTERRUPTED:
            return status
        click.echo(f"watching {count(len(before), 'file')}; Ctrl-C ends it", err=True)
        try:
            changed = api.wait_for_change(options, before)
        except KeyboardInterrupt:
            return status
        names = ", ".join(Path(path).name for path in changed[:_NAMED])
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        click.echo(visible(f"changed: {names}{more}"), err=True)
