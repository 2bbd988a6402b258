"""`scorehost init`: a small new dataset to start from."""

from __future__ import annotations

from pathlib import Path

import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say


@click.command(cls=Command, short_help="Write a small new dataset to start from.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@verbosity
def init(folder: Path) -> int:
    """Write a dataset of one task into DIR, which must be new or empty."""
    for path in api.init(folder):
        say(f"wrote {path}")
    say(f"next: scorehost run {folder} --submission solution")
    return 0
