"""`scorehost adapter`: trying adapters out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say
from scorehost.cli.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODES = ("session", "behavior", "trigger", "judge")
_FAULTY = 3


@click.group(short_help="Try an adapter out.")
def adapter() -> None:
    """Try an adapter out."""


@adapter.command(
    cls=Command,
    short_help="Send one request of each mode, and say what is wrong with the reply.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(_MODES), help="Only this mode; may be repeated."
)
@click.option(
    "--pass-env", multiple=True, metavar="NAME", help="A variable that the adapter gets; may be repeated."
)
@click.option(
    "--timeout",
    "seconds",
    default=60.0,
    type=click.FloatRange(0, 3600, min_open=True),
    metavar="SECONDS",
    help="For each request; 60.",
)
@click.option("--prompt", metavar="TEXT", help="The prompt of sessions, behavior and trigger.")
@verbosity
def test(
    command: Sequence[str], modes: Sequence[Any], pass_env: Sequence[str], seconds: float, prompt: str | None
) -> int:
    """Send one request of each mode to COMMAND, and say what is wrong with each reply.

    Options stand before COMMAND. Exit status 3 when a reply is not sound.
    """
    return anyio.run(_try, command, modes or _MODES, pass_env, seconds, prompt)


async def _try(
    command: Sequence[str], modes: Sequence[Any], pass_env: Sequence[str], seconds: float, prompt: str | None
) -> int:
    wrong = 0
    trials = api.try_adapter(command, modes=modes, pass_env=pass_env, timeout_seconds=seconds, prompt=prompt)
    async for trial in trials:
        if not trial.kind:
            say(f"{trial.name}: ok ({trial.seconds:.2f} s)")
            continue
        wrong += 1
        say(f"{trial.name}: {trial.kind}: {trial.problem}")
        for line in trial.log.splitlines()[-5:]:
            say(f"  stderr: {line}")
    say(f"{count(wrong, 'fault')}" if wrong else "every reply is sound")
    return _FAULTY if wrong else 0
