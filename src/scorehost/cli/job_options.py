"""The options of every command that runs a job: how it goes on after a fault, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]
_OPTIONS = (
    click.option(
        "--retry-errors",
        type=click.IntRange(min=0),
        default=1,
        show_default=True,
        metavar="N",
        help="Try faults of engine and environment again so often.",
    ),
    click.option("--fail-fast", is_flag=True, help="Take no new attempt after the first that is not PASS."),
    click.option(
        "--exit-on",
        type=click.Choice(["fail", "error", "never"]),
        default="fail",
        show_default=True,
        help="error: a FAIL exits with 0; never: an ERROR too.",
    ),
    click.option("--fail-under", type=float, metavar="X", help="Exit 1 when the mean is below X."),
    click.option("--allow-unenforced", is_flag=True, help="Run though the engine cannot enforce a limit."),
    click.option("--private", is_flag=True, help="Show free text of private checks too."),
)


def job_options(command: Command) -> Command:
    """Adds them to a command, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
