"""`scorehost shell`: a shell in a scoring host of a task."""

from __future__ import annotations

import shlex
import shutil
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say
from scorehost.cli.text import visible

if TYPE_CHECKING:
    from anyio.abc import Process

_INTERRUPTED = 130


@click.command(cls=Command, short_help="Look into a scoring host of a task.")
@click.argument("task", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--host", metavar="NAME", help="A named host; without it the evaluator's.")
@click.option("--submission", metavar="X", help="What lies in it, as `score` takes it (the solution).")
@verbosity
def shell(task: Path, host: str | None, submission: str | None) -> int:
    """Make a host of the task in the folder TASK with all that an attempt has in it, and open a shell there.

    The shell runs as the user that a task's own programs run as. The host goes when the shell ends, and the
    exit status is the shell's. Without a terminal the command that enters it is printed, and Ctrl-C removes
    the host.
    """
    if submission == "run":
        raise click.UsageError(
            "A shell starts no run phase. What one made lies in the attempt: --submission ATTEMPT_FOLDER."
        )
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
        return await _inside(look)


async def _inside(look: api.Look) -> int:
    """The shell on this terminal, until it ends or a signal wants the end; its exit status, or 130."""
    settings = termios.tcgetattr(sys.stdin)
    ended = 0
    try:
        async with (
            await anyio.open_process(look.argv, stdin=None, stdout=None, stderr=None) as process,
            anyio.create_task_group() as group,
        ):
            group.start_soon(_break_off, look.stop, process)
            ended = await process.wait()
            group.cancel_scope.cancel()
    finally:
        # The docker command reads keys raw, and has no time to put that back when it is broken off.
        with suppress(OSError, termios.error):
            termios.tcsetattr(sys.stdin, termios.TCSANOW, settings)
    return _INTERRUPTED if look.stop.is_set() else ended


async def _break_off(stop: anyio.Event, process: Process) -> None:
    await stop.wait()
    with suppress(ProcessLookupError):
        process.kill()


def _warn(text: str) -> None:
    with suppress(OSError):  # a terminal that has gone must not keep the host from being removed
        click.echo(visible(f"warning: {text}"), err=True)
