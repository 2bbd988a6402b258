"""`scorehost import`: other projects' tasks as datasets."""

from __future__ import annotations

from pathlib import Path

import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say
from scorehost.cli.text import count


@click.group(short_help="Turn another project's tasks into a dataset.")
def importing() -> None:
    """Turn another project's tasks into a dataset."""


@importing.command(cls=Command, short_help="The HumanEval problems.")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@verbosity
def humaneval(file: Path, folder: Path) -> int:
    """Write the problems of FILE (JSON lines, plain or .gz) as a dataset into DIR."""
    number = api.import_humaneval(file, folder)
    say(f"wrote {count(number, 'task')} into {folder}")
    say(f"next: scorehost run {folder} --submission solution")
    return 0
