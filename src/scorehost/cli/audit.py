"""`scorehost audit`: whether a benchmark is sound."""

from __future__ import annotations

import functools
from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.options import fields_of, value_of

_TASKS = "dataset tasks tags limit"
_PLACES = "profiles gold"
_RUNNING = "concurrency out resume allow_unenforced"
_TWICE = 2  # repeats show whether a task agrees with itself


@click.command(cls=Command, short_help="Find out whether a benchmark is sound.")
@click.option("--attacks", is_flag=True, help="Also hand in a kit of dishonest submissions.")
@fields_of(api.ScoreAsked, only=_TASKS)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="Score solution, empty and wrong ones N times (2).",
)
@fields_of(api.ScoreAsked, only=_PLACES)
@fields_of(api.Running, only=_RUNNING, words={"resume": "Continue an audit that was stopped."})
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@verbosity
@click.pass_context
def audit(
    ctx: click.Context,
    /,
    *,
    attacks: bool,
    repeat: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Score what must pass and what must not, for every task of DATASET, and say what is wrong with them.

    The solution must be PASS; nothing at all, empty files, shipped wrong solutions and (with --attacks)
    dishonest submissions must not; repeats must agree. Mutated solutions that pass are shown as warnings.

    Exit status: 0 sound, 1 defects, 2 bad input or nothing could run, 3 errors, 130 interrupted.
    """
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.audit_lines import show_audit  # noqa: PLC0415

    running = value_of(api.Running, given)
    # A job that is taken up again has its own number of repeats.
    repeats = repeat or (1 if running.resume else _TWICE)
    asked = value_of(api.ScoreAsked, given, repeat=repeats)
    with display(verbose=verbose_of(ctx) > 0) as watch:
        report = anyio.run(functools.partial(api.audit, attacks=attacks), asked, running, watch)
    show_audit(report, as_json=as_json)
    return report.exit_status
