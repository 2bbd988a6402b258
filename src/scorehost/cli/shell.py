"""`scorehost shell`: a shell in a scoring host of a task."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say
from scorehost.cli.text import visible


@click.command(cls=Command, short_help="Look into a scoring host of a task.")
@click.argument("task", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--host", metavar="NAME", help="A named host; without it the evaluator's.")
@click.option("--submission", metavar="X", help="What lies in it, as `score` takes it (the solution).")
@verbosity
def shell(task: Path, host: str | None, submission: str | None) -> int:
    """Make a host of the task in the folder TASK with all that an attempt has in it, and open a shell there.

    The shell runs as the user that a task's own programs run as. The host goes when the shell ends. Without a
    terminal the command that enters it is printed, and Ctrl-C removes the host.
    """
    return anyio.run(_shell, task, host, submission)


async def _shell(task: Path, host: str | None, submission: str | None) -> int:
    async with api.look_into(task, _warn, host=host, submission=submission) as look:
        gold = "the gold set lies in it" if look.gold else "without the gold set"
        click.echo(visible(f"host {look.host} ({look.container}), {gold}"), err=True)
        interactive = sys.stdin.isatty() and sys.stdout.isatty() and shutil.which("docker") is not None
        if not interactive:
            say(shlex.join(look.argv))
            await look.stop.wait()
            return 0
        async with await anyio.open_process(look.argv, stdin=None, stdout=None, stderr=None) as process:
            await process.wait()
    return 0


def _warn(text: str) -> None:
    click.echo(visible(f"warning: {text}"), err=True)
